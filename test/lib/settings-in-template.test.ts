import { Match } from 'aws-cdk-lib/assertions';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { functionNames } from '../../lib/bundles.ts';
import { parseSettings, reservedBy } from '../../lib/settings.ts';
import { notificationTypeIds } from '../../shared/contracts/notification-types.ts';
import { environments, type FunctionName, parseEnvironment, senderName } from '../../shared/environment.ts';
import { readDocument } from '../support/documents.ts';
import { allSettings, otherSettings } from '../support/settings.ts';
import { propertiesOf, reference, synthesize } from '../support/stack.ts';

const defaults = synthesize();
const all = synthesize(allSettings);
const other = synthesize(otherSettings);
type Synthesized = typeof defaults;

const alarmSchema = z.looseObject({ Threshold: z.number(), EvaluationPeriods: z.number() });

/** Returns the properties of the alarm with this construct ID. */
const alarm = ({ template }: Synthesized, name: string) =>
  [...propertiesOf(template, 'AWS::CloudWatch::Alarm', alarmSchema)].find(([id]) =>
    new RegExp(`^Monitoring${name}Alarm[0-9A-F]{8}$`).test(id),
  )?.[1];

/** Parses a template value to a string. A reference becomes a URL. */
const stringValue = z.union([
  z.string(),
  reference.transform((id) => `https://resource.example/${id}`),
  z
    .object({ 'Fn::Join': z.tuple([z.literal(''), z.array(z.union([z.string(), reference]))]) })
    .transform((join) => join['Fn::Join'][1].join('')),
]);
const functionSchema = z.object({
  MemorySize: z.number(),
  ReservedConcurrentExecutions: z.number().optional(),
  Environment: z.object({ Variables: z.record(z.string(), stringValue) }),
});

/** Returns the properties of each function by its name. */
const functionsOf = ({ template, functionIds }: Synthesized) => {
  const byId = propertiesOf(template, 'AWS::Lambda::Function', functionSchema);
  return [...functionIds].flatMap(([name, id]) => {
    const properties = byId.get(id);
    return properties ? [{ name, ...properties }] : [];
  });
};

/** Variables that only Node.js, the metrics and the logger read. */
const RUNTIME_VARIABLES = ['UV_THREADPOOL_SIZE', 'STACK_NAME', 'RELEASE'];

/** Returns the environment variables of a function, or undefined if the stack does not have it. */
const variablesOf = (stack: Synthesized, name: FunctionName) =>
  functionsOf(stack).find((found) => found.name === name)?.Environment.Variables;

it.each(functionNames)(
  'the environment of a function has the required variables by default, and all that it reads with all settings: %s',
  (name) => {
    expect(() => parseEnvironment(name, variablesOf(defaults, name) ?? {})).not.toThrow();
    const variables = Object.keys(variablesOf(all, name) ?? {}).filter((key) => !RUNTIME_VARIABLES.includes(key));
    expect(variables.toSorted()).toEqual(Object.keys(environments[name]).toSorted());
  },
);

describe('settings of the API', () => {
  it('throttle requests, and test operations, searches and the public page further, to leave concurrency for the senders', () => {
    const limit = (rate: number) => ({ ThrottlingRateLimit: rate, ThrottlingBurstLimit: rate });
    other.template.hasResourceProperties('AWS::ApiGatewayV2::Stage', {
      DefaultRouteSettings: limit(300),
      RouteSettings: {
        'POST /test-notification': limit(7),
        'POST /notifications/{id}/test': limit(7),
        'GET /deliveries': limit(10),
        'GET /opt-out': limit(20),
        'POST /opt-out': limit(20),
        'HEAD /opt-out': limit(20),
      },
    });
  });

  it('create the stage after the routes that it throttles', () => {
    const routes = propertiesOf(other.template, 'AWS::ApiGatewayV2::Route', z.object({ RouteKey: z.string() }));
    const throttled = [...routes]
      .filter(([, { RouteKey }]) => /test|opt-out|GET .deliveries/.test(RouteKey))
      .map(([id]) => id);
    expect(throttled).toHaveLength(6);
    for (const id of throttled)
      other.template.hasResource('AWS::ApiGatewayV2::Stage', { DependsOn: Match.arrayWith([id]) });
  });

  it('map the domain and the base path to the API, whose own endpoint stays enabled', () => {
    const own = { 'Fn::GetAtt': [expect.stringMatching(/^ApiHttpApi/), 'ApiEndpoint'] };
    expect(defaults.template.findOutputs('BaseUrl')).toMatchObject({ BaseUrl: { Value: own } });
    all.template.hasOutput('BaseUrl', { Value: 'https://api.example.org/v1.0/123456' });
    all.template.hasResourceProperties('AWS::ApiGatewayV2::ApiMapping', { ApiMappingKey: 'v1.0/123456' });
    all.template.hasResourceProperties('AWS::ApiGatewayV2::Api', { DisableExecuteApiEndpoint: Match.absent() });
    const { domainName = '', certificateArn = '' } = allSettings;
    const { template } = synthesize({ domainName, certificateArn });
    template.hasOutput('BaseUrl', { Value: 'https://api.example.org' });
    template.resourceCountIs('AWS::Route53::RecordSet', 0);
  });

  it('leave the access log without headers, query strings and bodies', () => {
    const stage = z.object({ AccessLogSettings: z.object({ Format: z.string() }) });
    const [{ AccessLogSettings } = { AccessLogSettings: { Format: '{}' } }] = propertiesOf(
      defaults.template,
      'AWS::ApiGatewayV2::Stage',
      stage,
    ).values();
    expect(AccessLogSettings.Format.match(/\$context\.\w+/g)?.toSorted()).toEqual(
      [
        'integrationStatus',
        'requestId',
        'requestTimeEpoch',
        'responseLatency',
        'responseLength',
        'routeKey',
        'status',
      ].map((name) => `$context.${name}`),
    );
  });
});

it('tags are on all resources of types that can be tagged', () => {
  const resources = z.record(z.string(), z.object({ Type: z.string(), Properties: z.unknown() }));
  const longestName = 'n'.repeat(128);
  const untagged = Object.values(resources.parse(other.template.toJSON().Resources))
    .filter(({ Properties = {} }) => !JSON.stringify(Properties).includes(longestName))
    .map(({ Type }) => Type.replace('AWS::', ''));
  expect([...new Set(untagged)].toSorted()).toEqual([
    ...['ApiMapping', 'Integration', 'Route'].map((type) => `ApiGatewayV2::${type}`),
    ...['Route', 'SubnetRouteTableAssociation', 'VPCGatewayAttachment'].map((type) => `EC2::${type}`),
    'IAM::ManagedPolicy',
    'IAM::Policy',
    'Lambda::Permission',
    'Logs::MetricFilter',
    'Route53::RecordSet',
    'SES::ConfigurationSetEventDestination',
    'SNS::Subscription',
    'SNS::TopicPolicy',
    'SQS::QueuePolicy',
    'Scheduler::Schedule',
  ]);
});

describe('settings of alarms', () => {
  it('are thresholds: the SMS budget, the concurrency that is not reserved, and minutes without events', () => {
    expect(alarm(defaults, 'SmsSpend')?.Threshold).toBe(0.8);
    expect(alarm(other, 'SmsSpend')?.Threshold).toBe(40);
    expect(alarm(defaults, 'AccountConcurrency')?.Threshold).toBe(800);
    const { stackName: _, ...settings } = otherSettings;
    const reserved = reservedBy(parseSettings(settings));
    expect(alarm(other, 'AccountConcurrency')?.Threshold).toBe(reserved + 0.8 * (2_000 - reserved));
    expect(alarm(other, 'MissingEvents')).toMatchObject({ EvaluationPeriods: 1_440, TreatMissingData: 'breaching' });
  });

  it('subscribe an email address, or use an existing topic', () => {
    other.template.hasResourceProperties('AWS::SNS::Subscription', { Protocol: 'email', Endpoint: 'ops@example.org' });
    defaults.template.resourcePropertiesCountIs('AWS::SNS::Subscription', { Protocol: 'email' }, 0);
    const alarmTarget = 'arn:aws:sns:eu-west-1:111111111111:existing';
    const { template } = synthesize({ alarmTarget });
    template.allResourcesProperties('AWS::CloudWatch::Alarm', {
      AlarmActions: [alarmTarget],
      OKActions: [alarmTarget],
    });
    // Those of operators and of email events.
    template.resourceCountIs('AWS::SNS::Topic', 2);
  });
});

describe('settings of functions', () => {
  it('are their memory', () => {
    const memories = functionsOf(other).map(({ name, MemorySize }) => [name, MemorySize]);
    expect(memories).toEqual(memories.map(([name]) => [name, name === 'send-webhook' ? 1_024 : 320]));
  });

  it('are the concurrent batches of a type, a quarter more for retries (at least 2), and what is reserved', () => {
    const mapping = z.object({
      EventSourceArn: reference,
      FunctionName: reference,
      MaximumBatchingWindowInSeconds: z.number().optional(),
      ScalingConfig: z.object({ MaximumConcurrency: z.number() }).optional(),
    });
    const mappings = [...propertiesOf(other.template, 'AWS::Lambda::EventSourceMapping', mapping).values()];
    const reserved = new Map(functionsOf(other).map(({ name, ...of }) => [name, of.ReservedConcurrentExecutions]));
    for (const type of notificationTypeIds) {
      const name = senderName(type);
      const [first, retries] = type === 'webhook' ? [101, 26] : [2, 2];
      for (const { EventSourceArn, FunctionName: id, ScalingConfig } of mappings) {
        if (id !== other.functionIds.get(name)) continue;
        const expected = /Retries[0-9A-F]{8}$/.test(EventSourceArn) ? retries : first;
        expect([EventSourceArn, ScalingConfig]).toEqual([EventSourceArn, { MaximumConcurrency: expected }]);
      }
      // Ten for tests.
      expect([type, reserved.get(name)]).toEqual([type, first + retries + 10]);
    }
    expect(reserved.get('dispatch-alarm-events')).toBe(5);
    // The retries' window, which retryDelayScale shortens to the AWS minimum, and that of the stream.
    expect(new Set(mappings.map(({ MaximumBatchingWindowInSeconds: window }) => window))).toEqual(
      new Set([undefined, 1, 5]),
    );
  });
});

describe('existing tables', () => {
  it('are used instead of new ones', () => {
    expect(JSON.stringify(other.template.toJSON())).toContain(':table/old.Tokens_1');
    other.template.hasOutput('TokensTable', { Value: 'old.Tokens_1' });
  });

  it('are those that operations.md imports after a rolled-back first deployment', () => {
    const section =
      /### A first deploy was rolled back\n(.*?)\n## /s.exec(readDocument('docs/operations.md'))?.[1] ?? '';
    const imported = [...section.matchAll(/"(Storage\w+)": \{"TableName": "MonitoringNotifications-(\w+)-/g)];
    const tables = Object.keys(defaults.template.findResources('AWS::DynamoDB::Table'));
    expect(imported.map(([, id]) => id).toSorted()).toEqual(tables.toSorted());
    for (const [, id, name] of imported) expect(name).toBe(id);
  });
});

it('the SES identity is the domain of emailFrom', () => {
  all.template.hasResourceProperties('AWS::SES::EmailIdentity', { EmailIdentity: 'example.org' });
});

it('the stack has the name of the API, which identifies it in an account', () => {
  const { stackName } = otherSettings;
  other.template.hasResourceProperties('AWS::ApiGatewayV2::Api', { Name: stackName });
  expect(() => synthesize({ stackName: `${stackName}x` })).toThrow('Invalid setting: stackName must have at most ');
});
