import type { MetricIdentity } from 'local-aws/cloudwatch/metric-store.ts';
import { textOf } from 'local-aws/intrinsics.ts';
import { referencesOf } from 'local-aws/resources.ts';
import { templateResources } from 'local-aws/template.ts';
import { z } from 'zod';
import { type FilterPattern, parseFilterPattern } from './filter-pattern.ts';
import { InsightRule } from './insight-rule.ts';
import { type MetricMath, metricMath } from './metric-math.ts';

/** A metric or an expression of an alarm, with its ID. */
export type AlarmQuery =
  | { id: string; metric: MetricIdentity; statistic: string }
  | { id: string; expression: MetricMath };

/** How CloudWatch treats periods without data. */
export type TreatMissingData = z.infer<typeof alarm>['TreatMissingData'];

/** A metric alarm with every reference resolved. */
export type AlarmDefinition = {
  /** The ID of its construct, such as `Throttles`. */
  name: string;
  queries: readonly AlarmQuery[];
  /** The ID of the query whose data points are compared with the threshold. */
  returnedId: string;
  periodMs: number;
  evaluationPeriods: number;
  datapointsToAlarm: number;
  /** A data point at or above it is breaching. */
  threshold: number;
  treatMissingData: TreatMissingData;
};

const metric = z.object({
  Namespace: z.string(),
  MetricName: z.string(),
  Dimensions: z.array(z.strictObject({ Name: z.string(), Value: z.unknown() })).default([]),
});
const singleMetric = metric
  .extend({ Period: z.number(), Statistic: z.string().optional(), ExtendedStatistic: z.string().optional() })
  .transform(({ Period, Statistic, ExtendedStatistic, ...Metric }) => [
    { Id: 'single', MetricStat: { Metric, Period, Stat: Statistic ?? ExtendedStatistic ?? '' }, ReturnData: true },
  ]);
const ReturnData = z.boolean().default(true);
const query = z.union([
  z.object({
    Id: z.string(),
    MetricStat: z.object({ Metric: metric, Period: z.number(), Stat: z.string() }),
    ReturnData,
  }),
  z.object({ Id: z.string(), Expression: z.unknown(), Period: z.number().optional(), ReturnData }),
]);
const queries = z.union([z.object({ Metrics: z.array(query) }).transform(({ Metrics }) => Metrics), singleMetric]);
const alarm = z.object({
  ComparisonOperator: z.literal('GreaterThanOrEqualToThreshold'),
  EvaluationPeriods: z.number(),
  DatapointsToAlarm: z.number().optional(),
  Threshold: z.number(),
  TreatMissingData: z.enum(['ignore', 'breaching', 'notBreaching']),
});

/** The metric alarms, Contributor Insights rules and metric filters of a synthesized template. */
export type MonitoringPlan = {
  alarms: AlarmDefinition[];
  insightRules: InsightRule[];
  /** Each counts the lines of a log group that match a pattern. */
  metricFilters: { logGroup: string; pattern: FilterPattern; metric: MetricIdentity }[];
  /** The log group of each function. */
  logGroups: Map<string, string>;
  /** The IDs of the HTTP APIs. */
  apiIds: string[];
  /** The names of the queues that a schedule keeps active, so that SQS never stops reporting their metrics. */
  queuesKeptActive: Set<string>;
};

const loggingFunction = z.looseObject({ LoggingConfig: z.looseObject({ LogGroup: z.unknown() }) });
const insightRule = z.looseObject({ RuleName: z.unknown(), RuleBody: z.unknown() });
const metricFilter = z.object({
  LogGroupName: z.unknown(),
  FilterPattern: z.unknown(),
  MetricTransformations: z.tuple([
    z.strictObject({ MetricNamespace: z.unknown(), MetricName: z.unknown(), MetricValue: z.literal('1') }),
  ]),
});
const schedule = z.looseObject({ Target: z.looseObject({ Arn: z.unknown(), Input: z.unknown() }) });
const queueCall = z.object({ QueueUrl: z.string() });

/**
 * Reads the monitoring resources of a template.
 *
 * @throws Error if one of them uses an unsupported feature
 */
export const readMonitoring = (template: unknown): MonitoringPlan => {
  const resources = templateResources(template);
  const references = referencesOf(resources, { endpointUrl: '', apiUrl: '' });
  const text = (value: unknown) => textOf(value, references);
  const ofType = (type: string) =>
    Object.entries(resources).flatMap(([id, { Type, Properties, Metadata }]) =>
      Type === type ? [{ id, properties: Properties, path: Metadata['aws:cdk:path'] ?? '' }] : [],
    );

  const definition = (path: string, properties: unknown): AlarmDefinition => {
    const declared = queries.parse(properties);
    const ids = declared.map(({ Id }) => Id);
    const rules = alarm.parse(properties);
    const periods = declared.flatMap((each) => ('MetricStat' in each ? each.MetricStat.Period : (each.Period ?? [])));
    return {
      // `Stack/Monitoring/Throttles/Alarm/Resource`
      name: path.split('/').at(-3) ?? '',
      queries: declared.map((each): AlarmQuery => {
        if (!('MetricStat' in each)) return { id: each.Id, expression: metricMath(text(each.Expression), ids) };
        const { Namespace, MetricName, Dimensions } = each.MetricStat.Metric;
        const dimensions = Object.fromEntries(Dimensions.map(({ Name, Value }) => [Name, text(Value)]));
        const identity = { namespace: Namespace, name: MetricName, dimensions };
        return { id: each.Id, metric: identity, statistic: each.MetricStat.Stat };
      }),
      returnedId: declared.find((each) => each.ReturnData)?.Id ?? '',
      periodMs: Math.max(...periods) * 1_000,
      evaluationPeriods: rules.EvaluationPeriods,
      datapointsToAlarm: rules.DatapointsToAlarm ?? rules.EvaluationPeriods,
      threshold: rules.Threshold,
      treatMissingData: rules.TreatMissingData,
    };
  };

  return {
    alarms: ofType('AWS::CloudWatch::Alarm').map(({ path, properties }) => definition(path, properties)),
    insightRules: ofType('AWS::CloudWatch::InsightRule').map(({ properties }) => {
      const { RuleName, RuleBody } = insightRule.parse(properties);
      return new InsightRule(text(RuleName), text(RuleBody));
    }),
    metricFilters: ofType('AWS::Logs::MetricFilter').map(({ properties }) => {
      const { LogGroupName, FilterPattern, MetricTransformations } = metricFilter.parse(properties);
      const [{ MetricNamespace, MetricName }] = MetricTransformations;
      return {
        logGroup: text(LogGroupName),
        pattern: parseFilterPattern(text(FilterPattern)),
        metric: { namespace: text(MetricNamespace), name: text(MetricName), dimensions: {} },
      };
    }),
    logGroups: new Map(
      ofType('AWS::Lambda::Function').map(({ id, properties }) => [
        references.ref(id) ?? id,
        text(loggingFunction.parse(properties).LoggingConfig.LogGroup),
      ]),
    ),
    apiIds: ofType('AWS::ApiGatewayV2::Api').map(({ id }) => references.ref(id) ?? id),
    queuesKeptActive: new Set(
      ofType('AWS::Scheduler::Schedule').flatMap(({ properties }) => {
        const { Arn, Input } = schedule.parse(properties).Target;
        if (!text(Arn).endsWith(':scheduler:::aws-sdk:sqs:tagQueue')) return [];
        const { QueueUrl } = queueCall.parse(JSON.parse(text(Input)));
        return QueueUrl.split('/').slice(-1);
      }),
    ),
  };
};
