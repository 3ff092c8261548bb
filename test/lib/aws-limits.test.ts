import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { stackSettings } from '../support/settings.ts';
import { synthesize } from '../support/stack.ts';

const templateSchema = z.looseObject({
  Resources: z.record(
    z.string(),
    z.looseObject({ Type: z.string(), Properties: z.record(z.string(), z.unknown()).default({}) }),
  ),
});

/** The longest names that CloudFormation generates. */
const MAX_NAME_LENGTHS = new Map([
  ['AWS::Lambda::Function', 64],
  ['AWS::IAM::Role', 64],
  ['AWS::SES::ConfigurationSet', 64],
  ['AWS::SQS::Queue', 80],
]);
/** As long as the rest of an ARN, or of the URL of a queue. */
const ARN = 'arn:aws:cloudwatch:ap-southeast-2:123456789012:insight-rule/';
/** The rest of the ARNs of which a policy has many. */
const ARNS = new Map([
  ['AWS::SQS::Queue', 'arn:aws-us-gov:sqs:ap-southeast-2:123456789012:'],
  ['AWS::DynamoDB::Table', 'arn:aws-us-gov:dynamodb:ap-southeast-2:123456789012:table/'],
]);

const PSEUDO_PARAMETERS = new Map([
  ['AWS::Partition', 'aws-us-gov'],
  ['AWS::AccountId', '123456789012'],
]);
const STACK_ARN = 'arn:aws-us-gov:cloudformation:ap-southeast-2:123456789012:stack/';

const joinSchema = z.tuple([z.string(), z.array(z.unknown())]);

/** Returns a value of a template with the longest texts that its functions can return. */
const resolved = (value: unknown, types: ReadonlyMap<string, string>, stackName: string): unknown => {
  const resolve = (inner: unknown): unknown => resolved(inner, types, stackName);
  const nameOf = (id: string): string =>
    `${stackName}-${id}-0123456789ABC`.slice(0, MAX_NAME_LENGTHS.get(types.get(id) ?? '') ?? 255);
  if (Array.isArray(value)) return value.map(resolve);
  if (typeof value !== 'object' || value === null) return value;
  const entries: [string, unknown][] = Object.entries(value);
  const [[key, argument] = ['', null]] = entries;
  if (key === 'Ref') {
    const id = z.string().parse(argument);
    if (id === 'AWS::StackId') return `${STACK_ARN}${stackName}/01234567-89ab-cdef-0123-456789abcdef`;
    if (id.startsWith('AWS::')) return PSEUDO_PARAMETERS.get(id) ?? 'ap-southeast-2';
    return /::(Queue|Topic)$/.test(types.get(id) ?? '') ? `${ARN}${nameOf(id)}` : nameOf(id);
  }
  if (key === 'Fn::GetAtt') {
    const [id] = z.tuple([z.string(), z.string()]).parse(argument);
    return `${ARNS.get(types.get(id) ?? '') ?? ARN}${nameOf(id)}`;
  }
  if (key === 'Fn::Join') {
    const [delimiter, parts] = joinSchema.parse(argument);
    return parts.map((part) => z.string().parse(resolve(part))).join(delimiter);
  }
  return Object.fromEntries(entries.map(([name, inner]) => [name, resolve(inner)]));
};

/** Returns the values at a path, where `*` stands for each element or property. The text of an object is read. */
const valuesAt = (value: unknown, path: string): unknown[] => {
  if (path === '') return [value];
  const [step = '', ...others] = path.split('.');
  const rest = others.join('.');
  const container: unknown = typeof value === 'string' && value.startsWith('{') ? JSON.parse(value) : value;
  if (typeof container !== 'object' || container === null) return [];
  if (step === '*') return Object.values(container).flatMap((inner) => valuesAt(inner, rest));
  const inner = new Map(Object.entries(container)).get(step);
  return inner === undefined ? [] : valuesAt(inner, rest);
};

const text = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** What of the values at a path a limit restricts. */
const measures = {
  /** Of JSON, without white space. */
  characters: (values) => values.map((value) => text(value).length),
  bytes: (values) => values.map((value) => Buffer.byteLength(text(value))),
  /** Elements of a list, or properties of an object. */
  elements: (values) =>
    values.flatMap((value) => (typeof value === 'object' && value !== null ? [Object.keys(value).length] : [])),
  values: (values) => [values.length],
  amount: (values) => values.map(Number),
  emptyObjects: (values) => values.map((value) => text(value).split('{}').length - 1),
  charactersBeyondAscii: (values) => values.map((value) => text(value).replaceAll(/[\x20-\x7e]/g, '').length),
  charactersBeyondLatin1: (values) => values.map((value) => text(value).replaceAll(/[\x20-\xff]/g, '').length),
} satisfies Record<string, (values: readonly unknown[]) => number[]>;

type Limit = readonly [type: string, path: string, measure: keyof typeof measures, max: number];

/** The name of the template itself, beside the types of resources. */
const TEMPLATE = 'template';
/** The bytes of the file that CloudFormation reads. */
const TEMPLATE_FILE = 'file of the template';
/** The names and values of a resource's tags. */
const TAGS = 'tags of a resource';
/** Each role with its inline policies. */
const ROLE_POLICIES = 'inline policies of a role';
/** Each alarm with the seconds that it evaluates. */
const EVALUATION = { minutes: 'evaluation by periods below an hour', hours: 'evaluation by periods of hours' };

/** The limits that AWS checks during a deployment, and nothing before it. */
const limits: readonly Limit[] = [
  // https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html
  [TEMPLATE, 'Resources', 'elements', 500],
  [TEMPLATE, 'Outputs', 'elements', 200],
  [TEMPLATE, 'Parameters', 'elements', 200],
  [TEMPLATE_FILE, '', 'amount', 1_000_000],
  [TEMPLATE, 'Description', 'bytes', 1_024],
  [TEMPLATE, 'Outputs.*.Description', 'bytes', 1_024],
  [TAGS, '', 'elements', 50],
  [TAGS, '*.0', 'characters', 128],
  [TAGS, '*.1', 'characters', 256],
  // https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/ContributorInsights-RuleSyntax.html
  ['AWS::CloudWatch::InsightRule', 'RuleName', 'characters', 128],
  ['AWS::CloudWatch::InsightRule', 'RuleName', 'charactersBeyondAscii', 0],
  ['AWS::CloudWatch::InsightRule', 'RuleBody', 'characters', 8_192],
  ['AWS::CloudWatch::InsightRule', 'RuleBody', 'charactersBeyondAscii', 0],
  ['AWS::CloudWatch::InsightRule', 'RuleBody.Contribution.Keys', 'elements', 4],
  ['AWS::CloudWatch::InsightRule', 'RuleBody.Contribution.Filters', 'elements', 4],
  ['AWS::CloudWatch::InsightRule', 'RuleBody.Contribution.Filters.*.*', 'elements', 10],
  // https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutMetricAlarm.html
  ['AWS::CloudWatch::Alarm', 'AlarmDescription', 'characters', 1_024],
  ['AWS::CloudWatch::Alarm', 'AlarmActions', 'elements', 5],
  ['AWS::CloudWatch::Alarm', 'OKActions', 'elements', 5],
  ['AWS::CloudWatch::Alarm', 'Dimensions', 'elements', 30],
  ['AWS::CloudWatch::Alarm', 'Metrics', 'elements', 20],
  ['AWS::CloudWatch::Alarm', 'Metrics.*.MetricStat', 'values', 10],
  ['AWS::CloudWatch::Alarm', 'Metrics.*.Expression', 'characters', 2_048],
  ['AWS::CloudWatch::Alarm', 'Metrics.*.MetricStat.Metric.Dimensions', 'elements', 30],
  ['AWS::CloudWatch::Alarm', 'Metrics.*.MetricStat.Metric.Namespace', 'characters', 255],
  [EVALUATION.minutes, '', 'amount', 86_400],
  [EVALUATION.hours, '', 'amount', 604_800],
  // https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/cloudwatch_limits.html
  ['AWS::CloudWatch::Dashboard', 'DashboardName', 'characters', 255],
  ['AWS::CloudWatch::Dashboard', 'DashboardBody.widgets', 'elements', 500],
  ['AWS::CloudWatch::Dashboard', 'DashboardBody.widgets.*.properties.metrics', 'elements', 500],
  ['AWS::CloudWatch::Dashboard', 'DashboardBody.widgets.*.properties.metrics.*', 'values', 2_500],
  // https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/CloudWatch-Dashboard-Body-Structure.html
  ['AWS::CloudWatch::Dashboard', 'DashboardBody.widgets.*.properties.alarms', 'elements', 100],
  // https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_PutMetricFilter.html
  ['AWS::Logs::MetricFilter', 'FilterPattern', 'characters', 1_024],
  ['AWS::Logs::MetricFilter', 'MetricTransformations', 'elements', 1],
  ['AWS::Logs::MetricFilter', 'MetricTransformations.*.MetricNamespace', 'characters', 255],
  // https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
  ['AWS::Lambda::Function', 'Environment.Variables', 'bytes', 4_096],
  ['AWS::Lambda::Function', 'Timeout', 'amount', 900],
  // https://docs.aws.amazon.com/lambda/latest/dg/invocation-eventfiltering.html
  ['AWS::Lambda::EventSourceMapping', 'FilterCriteria.Filters', 'elements', 5],
  ['AWS::Lambda::EventSourceMapping', 'FilterCriteria.Filters.*.Pattern', 'characters', 4_096],
  ['AWS::Lambda::EventSourceMapping', 'FilterCriteria.Filters.*.Pattern', 'emptyObjects', 0],
  // https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html
  ['AWS::IAM::Role', 'AssumeRolePolicyDocument', 'characters', 2_048],
  ['AWS::IAM::Policy', 'PolicyName', 'characters', 128],
  ['AWS::IAM::Policy', 'PolicyDocument', 'charactersBeyondLatin1', 0],
  [ROLE_POLICIES, '', 'characters', 10_240],
  ['AWS::IAM::ManagedPolicy', 'PolicyDocument', 'characters', 6_144],
  ['AWS::IAM::ManagedPolicy', 'Description', 'characters', 1_000],
  // https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-policies.html
  ['AWS::SQS::QueuePolicy', 'PolicyDocument', 'bytes', 8_192],
  ['AWS::SQS::QueuePolicy', 'PolicyDocument.Statement', 'elements', 20],
  ['AWS::SQS::QueuePolicy', 'PolicyDocument.Statement.*.Action', 'elements', 7],
  ['AWS::SQS::QueuePolicy', 'PolicyDocument.Statement.*.Principal.AWS', 'elements', 50],
  // https://docs.aws.amazon.com/sns/latest/dg/sns-access-policy-language-api-permissions-reference.html
  ['AWS::SNS::TopicPolicy', 'PolicyDocument', 'bytes', 30_720],
  ['AWS::SNS::TopicPolicy', 'PolicyDocument.Statement', 'elements', 100],
  ['AWS::SNS::TopicPolicy', 'PolicyDocument.Statement.*.Principal.AWS', 'elements', 200],
  // https://docs.aws.amazon.com/kms/latest/developerguide/resource-limits.html
  ['AWS::KMS::Key', 'Description', 'characters', 8_192],
  ['AWS::KMS::Key', 'KeyPolicy', 'bytes', 32_768],
  // https://docs.aws.amazon.com/scheduler/latest/APIReference/API_CreateSchedule.html
  ['AWS::Scheduler::Schedule', 'Description', 'characters', 512],
  // https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-quotas.html
  [TEMPLATE, 'Resources.*.Properties.RouteKey', 'values', 300],
  [TEMPLATE, 'Resources.*.Properties.IntegrationUri', 'values', 300],
  ['AWS::ApiGatewayV2::Api', 'Name', 'characters', 128],
  ['AWS::ApiGatewayV2::Stage', 'AccessLogSettings.Format', 'bytes', 3_072],
  // https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CreateSecurityGroup.html
  ['AWS::EC2::SecurityGroup', 'GroupDescription', 'characters', 255],
];

/** Something that limits restrict: a resource, or several taken together. */
type Measured = { id: string; type: string; value: unknown };

/** Returns the seconds that an alarm evaluates, with the longest period of its metrics. */
const evaluationOf = (alarm: unknown, id: string): Measured => {
  const periods = ['Period', 'Metrics.*.Period', 'Metrics.*.MetricStat.Period'].flatMap((path) =>
    valuesAt(alarm, path),
  );
  const period = Math.max(...periods.map(Number));
  const value = period * Number(valuesAt(alarm, 'EvaluationPeriods'));
  return { id, type: period < 3_600 ? EVALUATION.minutes : EVALUATION.hours, value };
};

const tagsSchema = z.union([
  z
    .array(z.object({ Key: z.string(), Value: z.string() }))
    .transform((tags) => tags.map(({ Key, Value }) => [Key, Value])),
  // API Gateway has a map.
  z.record(z.string(), z.string()).transform((tags) => Object.entries(tags)),
]);

/** Returns all that limits restrict in a stack with these settings. */
const measuredIn = (settings: Record<string, unknown>): Measured[] => {
  const { stack, template, bytes } = synthesize(settings);
  const source = templateSchema.parse(template.toJSON());
  const types = new Map(Object.entries(source.Resources).map(([id, { Type }]) => [id, Type]));
  const resources = Object.entries(source.Resources).map(
    ([id, { Type, Properties }]): Measured => ({
      id,
      type: Type,
      value: resolved(Properties, types, stack.stackName),
    }),
  );
  const alarms = resources.filter(({ type }) => type === 'AWS::CloudWatch::Alarm');
  const policies = resources.filter(({ type }) => type === 'AWS::IAM::Policy');
  // References, because names of different roles are equal if they are cut.
  const policiesByRole = Map.groupBy(policies, ({ id }) => text(source.Resources[id]?.Properties.Roles ?? ''));
  return [
    { id: TEMPLATE, type: TEMPLATE, value: source },
    { id: TEMPLATE_FILE, type: TEMPLATE_FILE, value: bytes },
    ...resources,
    ...resources.flatMap(({ id, value }) =>
      valuesAt(value, 'Tags').map((tags) => ({ id, type: TAGS, value: tagsSchema.parse(tags) })),
    ),
    ...alarms.map(({ id, value }) => evaluationOf(value, id)),
    ...[...policiesByRole].map(([id, ofRole]) => {
      const value = ofRole.flatMap((policy) => valuesAt(policy.value, 'PolicyDocument'));
      return { id, type: ROLE_POLICIES, value };
    }),
  ];
};

/** What the stacks have, by the names of their settings. */
const measuredStacks = new Map<string, Map<string, Measured[]>>();

const measuredOf = (name: string, settings: Record<string, unknown>): Map<string, Measured[]> => {
  const measured = measuredStacks.get(name) ?? Map.groupBy(measuredIn(settings), ({ type }) => type);
  measuredStacks.set(name, measured);
  return measured;
};

describe('the limits that only AWS checks', () => {
  it.each(Object.entries(stackSettings))('are kept by the stack %s', (name, settings) => {
    const measured = measuredOf(name, settings);
    const excesses = limits.flatMap(([type, path, measure, max]) =>
      (measured.get(type) ?? []).flatMap(({ id, value }) =>
        measures[measure](valuesAt(value, path))
          .filter((amount) => amount > max)
          .map((amount) => `${id} (${type}) has ${amount} ${measure} at "${path}", above ${max}`),
      ),
    );
    expect(excesses).toEqual([]);
  });

  it('restrict something in one of the stacks each', () => {
    const stacks = Object.entries(stackSettings).map(([name, settings]) => measuredOf(name, settings));
    const unused = limits.filter(([type, path, measure]) =>
      stacks.every((measured) =>
        (measured.get(type) ?? []).every(({ value }) => {
          const values = valuesAt(value, path);
          return values.length === 0 || measures[measure](values).length === 0;
        }),
      ),
    );
    expect(unused.map(([type, path]) => `${type} ${path}`)).toEqual([]);
  });
});
