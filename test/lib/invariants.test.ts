import { Match } from 'aws-cdk-lib/assertions';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { functionNames } from '../../lib/bundles.ts';
import { notificationTypeIds, notificationTypes } from '../../shared/contracts/notification-types.ts';
import { senderName } from '../../shared/environment.ts';
import { stackSettings } from '../support/settings.ts';
import { propertiesOf, reference, synthesize } from '../support/stack.ts';

const DEAD_LETTERS = /(DeadLetters|^CrashedQueue|^ReportsFailed)[0-9A-F]{8}$/;

/** The senders that call URLs from notifications and settings. No other function needs the VPC, which costs money. */
const HTTP_SENDERS: readonly string[] = notificationTypeIds
  .filter((type) => notificationTypes[type].sendsByHttp)
  .map((type) => senderName(type));

const functionSchema = z.object({
  Runtime: z.string(),
  Architectures: z.array(z.string()),
  Timeout: z.number(),
  Role: reference,
  LoggingConfig: z.object({ LogGroup: reference }).loose(),
  RecursiveLoop: z.string().optional(),
  VpcConfig: z.unknown().optional(),
});
const queueSchema = z.object({
  SqsManagedSseEnabled: z.literal(true),
  MessageRetentionPeriod: z.number(),
  VisibilityTimeout: z.number().optional(),
  RedrivePolicy: z.object({ deadLetterTargetArn: reference, maxReceiveCount: z.number() }).optional(),
});
const mappingSchema = z.object({
  EventSourceArn: reference,
  FunctionName: reference,
  FunctionResponseTypes: z.array(z.string()).default([]),
  MaximumBatchingWindowInSeconds: z.number().default(0),
  ScalingConfig: z.object({ MaximumConcurrency: z.number() }).optional(),
});
const roleSchema = z.object({
  AssumeRolePolicyDocument: z.object({
    Statement: z.tuple([z.object({ Principal: z.object({ Service: z.string() }), Condition: z.unknown().optional() })]),
  }),
});
const anything = z.record(z.string(), z.unknown());

describe.each(Object.entries(stackSettings))('in the stack %s', (_, settings) => {
  const { template, functionIds } = synthesize(settings);
  const of = <Properties>(type: string, schema: z.ZodType<Properties>) =>
    propertiesOf(template, `AWS::${type}`, schema);
  const functions = of('Lambda::Function', functionSchema);
  const queues = of('SQS::Queue', queueSchema);
  const mappings = [...of('Lambda::EventSourceMapping', mappingSchema).values()];
  const sources = mappings.filter(({ EventSourceArn }) => queues.has(EventSourceArn));
  const alarms = of('CloudWatch::Alarm', anything);
  const roles = of('IAM::Role', roleSchema);

  it('every function has a name of the service', () => {
    expect([...functionIds.keys()].toSorted()).toEqual(functionNames.toSorted());
    expect([...functions.keys()].toSorted()).toEqual([...functionIds.values()].toSorted());
  });

  it('every function runs on Node.js 24 and arm64, and ends before the HTTP API gives up', () => {
    for (const { Runtime, Architectures, Timeout } of functions.values()) {
      expect([Runtime, Architectures]).toEqual(['nodejs24.x', ['arm64']]);
      expect(Timeout).toBeLessThanOrEqual(30);
    }
  });

  it('every function logs to its own group in JSON, all that it writes, and of Lambda only failures', () => {
    const logs = [...functions.values()].map(({ LoggingConfig }) => LoggingConfig);
    expect(new Set(logs.map(({ LogGroup }) => LogGroup)).size).toBe(functions.size);
    for (const config of logs)
      expect(config).toEqual({ LogGroup: expect.any(String), LogFormat: 'JSON', SystemLogLevel: 'WARN' });
  });

  it('every log group keeps its lines as long as the setting says', () => {
    const groups = of('Logs::LogGroup', z.object({ RetentionInDays: z.number() }));
    expect(new Set([...groups.values()].map(({ RetentionInDays }) => RetentionInDays))).toEqual(
      new Set([Number(settings.logRetentionDays ?? 30)]),
    );
  });

  it('every function has its own role, which only Lambda can assume, and schedules of the account assume the others', () => {
    const ofFunctions = new Set([...functions.values()].map(({ Role }) => Role));
    expect(ofFunctions.size).toBe(functions.size);
    for (const [id, { AssumeRolePolicyDocument }] of roles) {
      const [{ Principal, Condition }] = AssumeRolePolicyDocument.Statement;
      const isFunction = ofFunctions.has(id);
      expect([id, Principal.Service]).toEqual([id, `${isFunction ? 'lambda' : 'scheduler'}.amazonaws.com`]);
      if (!isFunction) {
        expect(Condition).toMatchObject({ StringEquals: { 'aws:SourceAccount': { Ref: 'AWS::AccountId' } } });
        expect(JSON.stringify(Condition)).toContain(':schedule-group/');
      }
    }
  });

  it('only senders, which send messages to their own queues, may call themselves', () => {
    for (const [name, id] of functionIds)
      expect([name, functions.get(id)?.RecursiveLoop]).toEqual([name, name.startsWith('send-') ? 'Allow' : undefined]);
  });

  it('only the senders that send by HTTP are in the VPC, if there is one', () => {
    const inVpc = [...functionIds].filter(([, id]) => functions.get(id)?.VpcConfig !== undefined);
    const expected = settings.egress === 'static' ? HTTP_SENDERS : [];
    expect(inVpc.map(([name]) => name).toSorted()).toEqual(expected.toSorted());
  });

  it('only the sender of webhooks has the URL of the monitor, which is secret', () => {
    const url = String(settings.heartbeatUrl ?? 'no monitor');
    const withUrl = [...of('Lambda::Function', anything)].filter(([, properties]) =>
      JSON.stringify(properties).includes(url),
    );
    expect(withUrl.map(([id]) => id)).toEqual(settings.heartbeatUrl ? [functionIds.get('send-webhook')] : []);
    expect(JSON.stringify(template.toJSON()).split(url)).toHaveLength(withUrl.length + 1);
  });

  it('only the HTTP API of the stack may invoke functions directly', () => {
    const permissions = of('Lambda::Permission', z.object({ Principal: z.string(), SourceArn: z.unknown() }));
    for (const { Principal, SourceArn } of permissions.values()) {
      expect(Principal).toBe('apigateway.amazonaws.com');
      expect(JSON.stringify(SourceArn)).toMatch(/:execute-api:.*"ApiHttpApi/);
    }
  });

  it('every work queue has one consumer, which reports failed messages individually; dead letters have none', () => {
    const workQueues = [...queues.keys()].filter((id) => !DEAD_LETTERS.test(id));
    expect(sources.map(({ EventSourceArn }) => EventSourceArn).toSorted()).toEqual(workQueues.toSorted());
    for (const { FunctionResponseTypes } of mappings)
      expect(FunctionResponseTypes).toEqual(['ReportBatchItemFailures']);
  });

  it('every work queue redrives to the crashed queue after 100 receives, and no other queue redrives', () => {
    const crashed = { deadLetterTargetArn: expect.stringMatching(/^CrashedQueue/), maxReceiveCount: 100 };
    for (const [id, { RedrivePolicy }] of queues)
      expect([id, RedrivePolicy]).toEqual([id, DEAD_LETTERS.test(id) ? undefined : crashed]);
  });

  it('every queue keeps messages for 4 days, and dead letters for 14', () => {
    for (const [id, { MessageRetentionPeriod }] of queues)
      expect([id, MessageRetentionPeriod / 86_400]).toEqual([id, DEAD_LETTERS.test(id) ? 14 : 4]);
  });

  it('every message stays invisible for six timeouts of its consumer plus the batching window', () => {
    for (const { EventSourceArn, FunctionName, MaximumBatchingWindowInSeconds: window } of sources) {
      const timeout = functions.get(FunctionName)?.Timeout ?? Number.NaN;
      expect(queues.get(EventSourceArn)?.VisibilityTimeout).toBeGreaterThanOrEqual(6 * timeout + window);
    }
  });

  it('every consumer but that of email events has a maximum of concurrent batches, except for development', () => {
    const unlimited = sources.filter(({ ScalingConfig }) => ScalingConfig === undefined);
    const ids = unlimited.map(({ EventSourceArn }) => EventSourceArn);
    if (settings.developmentStage) expect(ids).toHaveLength(sources.length);
    else expect(ids).toEqual([expect.stringMatching(/^EmailEventsQueue/)]);
  });

  it('every table is on demand and has point-in-time recovery, deletes expired items, and is kept unless settings say so', () => {
    const isProtected = settings.deletionProtection !== 'false';
    template.allResourcesProperties('AWS::DynamoDB::Table', {
      BillingMode: 'PAY_PER_REQUEST',
      PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
      TimeToLiveSpecification: { AttributeName: 'ttl', Enabled: true },
      DeletionProtectionEnabled: isProtected,
    });
    const policy = isProtected ? 'Retain' : 'Delete';
    template.allResources('AWS::DynamoDB::Table', { DeletionPolicy: policy, UpdateReplacePolicy: policy });
  });

  it('every public address is kept when the stack is deleted, because firewalls of destinations allow it', () => {
    const addresses = Object.values(template.findResources('AWS::EC2::EIP'));
    const policy = settings.deletionProtection === 'false' ? 'Delete' : 'RetainExceptOnCreate';
    expect(addresses.map(({ DeletionPolicy }) => DeletionPolicy)).toEqual(settings.egress ? [policy, policy] : []);
  });

  it('every topic is encrypted, except that of email events for development, because a key costs $1 a month', () => {
    const topics = [...of('SNS::Topic', anything)].filter(([, { KmsMasterKeyId }]) => KmsMasterKeyId === undefined);
    expect(topics.map(([id]) => id)).toEqual(
      settings.developmentStage ? [expect.stringMatching(/^EmailEventsTopic/)] : [],
    );
  });

  it('SES silences no address for all tenants: the configuration set disables the suppression list', () => {
    template.allResourcesProperties('AWS::SES::ConfigurationSet', { SuppressionOptions: { SuppressedReasons: [] } });
  });

  it('SES sends events only after the queue is subscribed to their topic', () => {
    const [subscription = ''] = Object.entries(
      template.findResources('AWS::SNS::Subscription', { Properties: { Protocol: 'sqs' } }),
    ).map(([id]) => id);
    template.allResources('AWS::SES::ConfigurationSetEventDestination', {
      DependsOn: Match.arrayWith([subscription]),
    });
  });

  it('every schedule starts after its role has its permissions', () => {
    const policies = of('IAM::Policy', z.object({ Roles: z.tuple([reference]) }));
    const schedules = of('Scheduler::Schedule', z.object({ Target: z.object({ RoleArn: reference }) }));
    for (const [id, { Target }] of schedules) {
      const [policy = ''] = [...policies].find(([, { Roles }]) => Roles[0] === Target.RoleArn) ?? [];
      expect([id, template.findResources('AWS::Scheduler::Schedule')[id]?.DependsOn]).toEqual([
        id,
        expect.arrayContaining([policy]),
      ]);
    }
  });

  it('every alarm says when it begins and ends to one topic', () => {
    for (const { AlarmActions, OKActions } of alarms.values()) {
      expect(AlarmActions).toEqual([{ Ref: expect.stringMatching(/^MonitoringAlarmsTopic/) }]);
      expect(OKActions).toEqual(AlarmActions);
    }
  });

  it.skipIf(settings.developmentStage)(
    'alarms read the age of every queue but retries, and failures in every consumer',
    () => {
      const ages = JSON.stringify([...alarms].filter(([id]) => /^Monitoring(QueueAge|ReportsLate)/.test(id)));
      const first = sources.map(({ EventSourceArn }) => EventSourceArn).filter((id) => !/Retries[0-9A-F]{8}$/.test(id));
      expect(first.filter((id) => !ages.includes(`"${id}","QueueName"`))).toEqual([]);
      const counted = of('Logs::MetricFilter', z.object({ LogGroupName: reference })).values();
      const groups = new Set(mappings.map(({ FunctionName }) => functions.get(FunctionName)?.LoggingConfig.LogGroup));
      expect(new Set([...counted].map(({ LogGroupName }) => LogGroupName))).toEqual(groups);
    },
  );

  it('no metric of an alarm has the dimension of a tenant', () => {
    expect(JSON.stringify([...alarms.values()])).not.toMatch(/"Name":"tenant/);
  });
});
