import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { allSettings } from '../support/settings.ts';
import { synthesize, warningsOf } from '../support/stack.ts';

const { template } = synthesize();

const { Resources, Outputs, Parameters } = z
  .object({
    Resources: z.record(
      z.string(),
      z.object({
        Type: z.string(),
        Properties: z.record(z.string(), z.unknown()).default({}),
        DeletionPolicy: z.string().optional(),
      }),
    ),
    Outputs: z.record(z.string(), z.object({ Value: z.unknown(), Description: z.string() })),
    Parameters: z.record(z.string(), z.unknown()).default({}),
  })
  .parse(template.toJSON());

const idsOf = (...types: string[]): string[] =>
  Object.entries(Resources)
    .filter(([, { Type }]) => types.includes(Type))
    .map(([id]) => id)
    .toSorted();

describe('the stack', () => {
  /**
   * CloudFormation replaces a table or a queue whose logical ID changes, and its data stays in the old one. Change this
   * list only with a migration plan.
   */
  it('keeps the logical IDs of its tables and queues', () => {
    expect(idsOf('AWS::DynamoDB::Table', 'AWS::SQS::Queue')).toEqual([
      'CrashedQueue6FFA2362',
      'DeliveryAlarmEventsDeadLettersE737AA73',
      'DeliveryAlarmEventsQueue0CEB59F8',
      'DeliveryatomfeedDeadLettersFF5890D2',
      'DeliveryatomfeedQueue22AE06F8',
      'DeliveryatomfeedRetries79A6D495',
      'DeliveryemailDeadLetters2ADC5178',
      'DeliveryemailQueueA4A1A952',
      'DeliveryemailRetriesD45308FF',
      'DeliveryincidentpagerDeadLetters4EC4F3EC',
      'DeliveryincidentpagerQueue1805FCAE',
      'DeliveryincidentpagerRetriesCEB20F22',
      'DeliveryincidentrouterDeadLetters8B439C86',
      'DeliveryincidentrouterQueueF9B2F22F',
      'DeliveryincidentrouterRetriesB6E40242',
      'DeliverymanagedDeadLetters2777F690',
      'DeliverymanagedQueueF8A71625',
      'DeliverymanagedRetriesC6D6A4F9',
      'DeliverysmsDeadLettersB04C9A4C',
      'DeliverysmsQueueF38D5FDA',
      'DeliverysmsRetriesDB51A759',
      'DeliverytechnicalContactsEmailDeadLettersC0AC8874',
      'DeliverytechnicalContactsEmailQueueC90A7408',
      'DeliverytechnicalContactsEmailRetries28F3FA32',
      'DeliverywebhookDeadLettersADF32E35',
      'DeliverywebhookQueueD7B9E1BA',
      'DeliverywebhookRetries74F858CF',
      'EmailEventsQueue880F9631',
      'StorageAccountsTableA2B1C1E7',
      'StorageDeliveriesTableBC9298F3',
      'StorageNotificationsTableE2218D4A',
      'StorageTokensTableA44AEF33',
    ]);
  });

  it('has the tables that the runbook imports after a rolled-back first deployment', () => {
    const runbook = readFileSync(new URL('../../docs/runbook.md', import.meta.url), 'utf8');
    const imported = [...runbook.matchAll(/"(Storage\w+)": \{"TableName": "MonitoringNotifications-(\w+)-/g)];
    expect(imported.map(([, id]) => id).toSorted()).toEqual(idsOf('AWS::DynamoDB::Table'));
    for (const [, id, name] of imported) expect(name).toBe(id);
    for (const id of idsOf('AWS::DynamoDB::Table')) expect(Resources[id]?.DeletionPolicy).toBe('Retain');
  });

  it('has no fixed physical names, so that an account can have several stacks', () => {
    const names = [
      'TableName',
      'QueueName',
      'TopicName',
      'FunctionName',
      'RoleName',
      'PolicyName',
      'LogGroupName',
      'AlarmName',
      'DashboardName',
      'AliasName',
      'Name',
    ];
    /** Resource types whose names need not be unique, or refer to another resource. */
    const exceptions = [
      'AWS::ApiGatewayV2::Api',
      'AWS::IAM::Policy',
      'AWS::Lambda::EventSourceMapping',
      'AWS::Lambda::Permission',
    ];
    const named = Object.entries(Resources)
      .filter(([, { Type }]) => !exceptions.includes(Type))
      .flatMap(([id, { Properties }]) =>
        names.filter((name) => typeof Properties[name] === 'string').map((name) => `${id} ${name}`),
      );
    expect(named).toEqual([]);
  });

  it('has a described output for each resource that operators need', () => {
    expect(Object.keys(Outputs)).toEqual(
      expect.arrayContaining([
        'BaseUrl',
        'AlarmEventsQueueUrl',
        'AlarmEventsQueueArn',
        'ManagedTopicArn',
        'TokensTable',
        'AccountsTable',
        'DeliveriesTable',
      ]),
    );
    for (const { Description } of Object.values(Outputs)) expect(Description).toMatch(/\w/);
    expect(Outputs.BaseUrl?.Value).toEqual({ 'Fn::GetAtt': [expect.stringMatching(/^ApiHttpApi/), 'ApiEndpoint'] });
  });

  it('stays well below 500 resources, the limit of a template, with all settings', () => {
    const { template } = synthesize(allSettings);
    expect(Object.keys(template.toJSON().Resources).length).toBeLessThan(400);
  });

  it('has no parameters except that of the CDK bootstrap stack', () => {
    expect(Object.keys(Parameters)).toEqual(['BootstrapVersion']);
  });

  it('warns if emailFrom or feedEndpoint is not set', () => {
    expect(warningsOf({}).map((text) => /\[ack: notifications:(\w+)\]$/.exec(text)?.[1])).toEqual([
      'feedEndpoint',
      'emailFrom',
    ]);
  });

  it('warns if the event sources can use more concurrent executions than the account has', () => {
    const quotaWarnings = (settings: Record<string, unknown>) =>
      warningsOf(settings).filter((text) => text.includes('lambdaConcurrencyQuota'));
    expect(quotaWarnings({ lambdaConcurrencyQuota: 10 })).toEqual([
      expect.stringMatching(
        /^The event sources can use 511 concurrent executions, more than lambdaConcurrencyQuota \(10\)/,
      ),
    ]);
    expect(quotaWarnings({ lambdaConcurrencyQuota: 510 })).toHaveLength(1);
    expect(quotaWarnings({ lambdaConcurrencyQuota: 511 })).toEqual([]);
    expect(quotaWarnings({ senderConcurrencyByType: 'webhook=1000' })).toHaveLength(1);
    // Its event sources have no maximum.
    expect(quotaWarnings({ developmentStage: true, lambdaConcurrencyQuota: 10 })).toEqual([]);
  });

  it('warns if a function has more memory than new accounts allow', () => {
    const memoryWarnings = (settings: Record<string, unknown>) =>
      warningsOf(settings).filter((text) => text.includes('3,008 MB'));
    expect(memoryWarnings({ memoryMb: 3_008, memoryMbByType: 'webhook=3008' })).toEqual([]);
    expect(memoryWarnings({ memoryMb: 3_009 })).toEqual([expect.stringMatching(/^memoryMb is above 3,008 MB/)]);
    expect(memoryWarnings({ memoryMbByType: 'webhook=4096' })).toEqual([
      expect.stringMatching(/^memoryMbByType is above 3,008 MB/),
    ]);
  });

  it('encrypts every topic, and denies plain HTTP to it', () => {
    for (const id of idsOf('AWS::SNS::Topic')) {
      expect(Resources[id]?.Properties).toHaveProperty('KmsMasterKeyId');
    }
    template.hasResourceProperties('AWS::SNS::TopicPolicy', {
      PolicyDocument: {
        Statement: [{ Effect: 'Deny', Condition: { Bool: { 'aws:SecureTransport': 'false' } } }],
      },
    });
  });
});
