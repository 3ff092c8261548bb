import type { MetricIdentity } from 'local-aws/cloudwatch/metric-store.ts';
import { textOf } from 'local-aws/intrinsics.ts';
import { type Resources, referencesOf } from 'local-aws/resources.ts';
import { templateResources } from 'local-aws/template.ts';
import { z } from 'zod';
import { InsightRule } from './insight-rule.ts';
import { MetricFilter } from './metric-filter.ts';
import { type Expression, parseExpression } from './metric-math-syntax.ts';

/** A metric or an expression of an alarm, with its ID. */
export type AlarmQuery =
  | { id: string; metric: MetricIdentity; statistic: string; periodMs: number }
  | { id: string; expression: Expression };

/** How CloudWatch treats periods without data. */
export type TreatMissingData = z.infer<typeof treatMissingData>;

/** A metric alarm with every reference resolved. */
export type AlarmDefinition = {
  /** The ID of its construct, such as `Throttles-worker`. */
  name: string;
  queries: readonly AlarmQuery[];
  /** The ID of the query whose data points are compared with the threshold. */
  returnedId: string;
  periodMs: number;
  evaluationPeriods: number;
  datapointsToAlarm: number;
  threshold: number;
  comparison: z.infer<typeof comparison>;
  treatMissingData: TreatMissingData;
};

const treatMissingData = z.enum(['missing', 'ignore', 'breaching', 'notBreaching']);
const comparison = z.enum([
  'GreaterThanOrEqualToThreshold',
  'GreaterThanThreshold',
  'LessThanThreshold',
  'LessThanOrEqualToThreshold',
]);
const periodSeconds = z.number().int().multipleOf(60).min(60);
const dimensions = z.array(z.strictObject({ Name: z.string(), Value: z.unknown() })).default([]);
const alarmRules = {
  ComparisonOperator: comparison,
  EvaluationPeriods: z.number().int().min(1),
  DatapointsToAlarm: z.number().int().min(1).optional(),
  Threshold: z.number(),
  TreatMissingData: treatMissingData.default('missing'),
  AlarmDescription: z.unknown().optional(),
  AlarmActions: z.unknown().optional(),
  OKActions: z.unknown().optional(),
  Tags: z.unknown().optional(),
};
const singleMetricAlarm = z.strictObject({
  ...alarmRules,
  Namespace: z.string(),
  MetricName: z.string(),
  Dimensions: dimensions,
  Period: periodSeconds,
  Statistic: z.string().optional(),
  ExtendedStatistic: z.string().optional(),
});
const query = z.union([
  z.strictObject({
    Id: z.string(),
    MetricStat: z.strictObject({
      Metric: z.strictObject({ Namespace: z.string(), MetricName: z.string(), Dimensions: dimensions }),
      Period: periodSeconds,
      Stat: z.string(),
      Unit: z.undefined().optional(),
    }),
    Label: z.unknown().optional(),
    ReturnData: z.boolean().optional(),
  }),
  z.strictObject({
    Id: z.string(),
    Expression: z.unknown(),
    Period: periodSeconds.optional(),
    Label: z.unknown().optional(),
    ReturnData: z.boolean().optional(),
  }),
]);
/** CloudWatch allows ten metrics and ten expressions in an alarm. */
const MAX_METRICS = 10;
const metricMathAlarm = z.strictObject({
  ...alarmRules,
  Metrics: z
    .array(query)
    .min(1)
    .max(2 * MAX_METRICS),
});
const alarm = z.union([singleMetricAlarm, metricMathAlarm]);

/** The metric alarms, Contributor Insights rules and metric filters of a synthesized template. */
export type MonitoringPlan = {
  alarms: AlarmDefinition[];
  insightRules: InsightRule[];
  metricFilters: MetricFilter[];
  /** The function that writes to a log group, by the name of the log group. */
  functionOfLogGroup: Map<string, string>;
  /** The IDs of the HTTP APIs. */
  apiIds: string[];
  /** The names of the queues that a schedule keeps active, so that SQS never stops reporting their metrics. */
  queuesKeptActive: Set<string>;
};

const loggingFunction = z.looseObject({ LoggingConfig: z.looseObject({ LogGroup: z.unknown() }) });
const insightRule = z.looseObject({ RuleName: z.unknown(), RuleBody: z.unknown() });
const schedule = z.looseObject({ Target: z.looseObject({ Arn: z.unknown(), Input: z.unknown() }) });
const queueCall = z.object({ QueueUrl: z.string() });

/**
 * Reads the monitoring resources of a template.
 *
 * @throws Error if an alarm uses an unsupported feature
 */
export const readMonitoring = (template: unknown): MonitoringPlan => {
  const resources = templateResources(template);
  const references = referencesOf(resources, { endpointUrl: '', apiUrl: '' });
  const text = (value: unknown) => textOf(value, references);
  const ofType = (type: string) => Object.entries(resources).filter(([, { Type }]) => Type === type);
  return {
    alarms: ofType('AWS::CloudWatch::Alarm').map(([id, { Properties }]) =>
      definition(nameOf(id, resources), alarm.parse(Properties), text),
    ),
    insightRules: ofType('AWS::CloudWatch::InsightRule').map(([, { Properties }]) => {
      const { RuleName, RuleBody } = insightRule.parse(Properties);
      return new InsightRule(text(RuleName), text(RuleBody));
    }),
    metricFilters: ofType('AWS::Logs::MetricFilter').map(([, { Properties }]) => new MetricFilter(Properties, text)),
    functionOfLogGroup: new Map(
      ofType('AWS::Lambda::Function').map(([id, { Properties }]) => [
        text(loggingFunction.parse(Properties).LoggingConfig.LogGroup),
        references.ref(id) ?? id,
      ]),
    ),
    apiIds: ofType('AWS::ApiGatewayV2::Api').map(([id]) => references.ref(id) ?? id),
    queuesKeptActive: new Set(
      ofType('AWS::Scheduler::Schedule').flatMap(([, { Properties }]) => {
        const { Arn, Input } = schedule.parse(Properties).Target;
        if (!text(Arn).endsWith(':scheduler:::aws-sdk:sqs:tagQueue')) return [];
        return queueCall
          .parse(JSON.parse(text(Input)))
          .QueueUrl.split('/')
          .slice(-1);
      }),
    ),
  };
};

/** Returns `Throttles-worker` for `Stack/Monitoring/Throttles-worker/Alarm/Resource`. */
const nameOf = (id: string, resources: Resources): string => {
  const path = resources[id]?.Metadata['aws:cdk:path'];
  const name = path?.split('/').at(-3);
  if (name === undefined) throw new Error(`The alarm ${id} has no construct path.`);
  return name;
};

const definition = (
  name: string,
  properties: z.infer<typeof alarm>,
  text: (value: unknown) => string,
): AlarmDefinition => {
  const queries =
    'Metrics' in properties
      ? properties.Metrics.map((declared) => queryOf(declared, text))
      : [singleQuery(properties, text)];
  const returnedId = 'Metrics' in properties ? returnedQueryId(name, properties.Metrics) : SINGLE_QUERY_ID;
  const metricPeriodsMs = queries.flatMap((alarmQuery) => ('metric' in alarmQuery ? alarmQuery.periodMs : []));
  const expressionPeriodsMs =
    'Metrics' in properties
      ? properties.Metrics.flatMap((declared) =>
          'Expression' in declared && declared.Period !== undefined ? declared.Period * 1000 : [],
        )
      : [];
  const [periodMs, ...otherPeriods] = new Set([...metricPeriodsMs, ...expressionPeriodsMs]);
  if (periodMs === undefined || otherPeriods.length > 0) {
    throw new Error(`The alarm ${name} does not have exactly one period.`);
  }
  if (metricPeriodsMs.length > MAX_METRICS) {
    throw new Error(`The alarm ${name} has ${metricPeriodsMs.length} metrics; CloudWatch allows ${MAX_METRICS}.`);
  }
  return {
    name,
    queries,
    returnedId,
    periodMs,
    evaluationPeriods: properties.EvaluationPeriods,
    datapointsToAlarm: properties.DatapointsToAlarm ?? properties.EvaluationPeriods,
    threshold: properties.Threshold,
    comparison: properties.ComparisonOperator,
    treatMissingData: properties.TreatMissingData,
  };
};

const SINGLE_QUERY_ID = 'single';

const singleQuery = (properties: z.infer<typeof singleMetricAlarm>, text: (value: unknown) => string): AlarmQuery => {
  const { Namespace, MetricName, Dimensions, Period, Statistic, ExtendedStatistic } = properties;
  const statistic = Statistic ?? ExtendedStatistic;
  if (statistic === undefined) throw new Error(`An alarm of ${MetricName} has no statistic.`);
  const metric = { namespace: Namespace, name: MetricName, dimensions: dimensionsOf(Dimensions, text) };
  return { id: SINGLE_QUERY_ID, metric, statistic, periodMs: Period * 1000 };
};

const queryOf = (declared: z.infer<typeof query>, text: (value: unknown) => string): AlarmQuery => {
  if (!('MetricStat' in declared)) return { id: declared.Id, expression: parseExpression(text(declared.Expression)) };
  const { Metric, Period, Stat } = declared.MetricStat;
  const { Namespace, MetricName, Dimensions } = Metric;
  const metric = { namespace: Namespace, name: MetricName, dimensions: dimensionsOf(Dimensions, text) };
  return { id: declared.Id, metric, statistic: Stat, periodMs: Period * 1000 };
};

const dimensionsOf = (list: z.infer<typeof dimensions>, text: (value: unknown) => string): Record<string, string> =>
  Object.fromEntries(list.map(({ Name, Value }) => [Name, text(Value)]));

const returnedQueryId = (name: string, queries: z.infer<typeof query>[]): string => {
  const [only, ...others] = queries.filter(({ ReturnData = true }) => ReturnData);
  if (!only || others.length > 0) throw new Error(`The alarm ${name} does not return exactly one time series.`);
  return only.Id;
};
