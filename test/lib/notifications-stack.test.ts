import { readFileSync } from 'node:fs';
import { Stack } from 'aws-cdk-lib';
import { CfnQueue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { notificationTypeIds } from '../../shared/contracts/notification-types.ts';
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
    const paths = new Stack();
    const delivery = new Construct(paths, 'Delivery');
    const queuesOfTypes = notificationTypeIds.flatMap((type) => {
      const ofType = new Construct(delivery, type);
      return ['DeadLetters', 'Queue', 'Retries'].map((id) =>
        paths.getLogicalId(new CfnQueue(new Construct(ofType, id), 'Resource')),
      );
    });
    expect(queuesOfTypes).toContain('DeliveryemailQueueA4A1A952');
    expect(idsOf('AWS::DynamoDB::Table', 'AWS::SQS::Queue')).toEqual(
      [
        ...queuesOfTypes,
        'CrashedQueue6FFA2362',
        'DeliveryAlarmEventsDeadLettersE737AA73',
        'DeliveryAlarmEventsQueue0CEB59F8',
        'EmailEventsQueue880F9631',
        'StorageAccountsTableA2B1C1E7',
        'StorageAuditsTable6208D4D1',
        'StorageDeliveriesTableBC9298F3',
        'StorageNotificationsTableE2218D4A',
        'StorageTokensTableA44AEF33',
      ].toSorted(),
    );
  });

  it('has the tables that operations.md imports after a rolled-back first deployment', () => {
    const operations = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8');
    const section = /### A first deploy was rolled back\n(.*?)\n## /s.exec(operations)?.[1] ?? '';
    const imported = [...section.matchAll(/"(Storage\w+)": \{"TableName": "MonitoringNotifications-(\w+)-/g)];
    expect(imported.map(([, id]) => id).toSorted()).toEqual(idsOf('AWS::DynamoDB::Table'));
    for (const [, id, name] of imported) expect(name).toBe(id);
    for (const id of idsOf('AWS::DynamoDB::Table')) expect(Resources[id]?.DeletionPolicy).toBe('Retain');
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
    expect(Object.keys(template.toJSON().Resources).length).toBeLessThan(425);
  });

  it('has no parameters except that of the CDK bootstrap stack', () => {
    expect(Object.keys(Parameters)).toEqual(['BootstrapVersion']);
  });

  const warningIds = (settings: Record<string, unknown>) =>
    warningsOf(settings).map((text) => /\[ack: notifications:(\w+)\]$/.exec(text)?.[1]);

  it('warns if settings are missing without which nothing is delivered or noticed, or anything is paid for', () => {
    expect(warningIds({})).toEqual(['feedEndpoint', 'emailFrom', 'alarmTarget', 'smsCountries']);
  });

  it.each([
    ['alarmTarget', { alarmTarget: 'oncall@example.org' }],
    ['alarmTarget', { developmentStage: true }],
    ['smsCountries', { smsCountries: '+1' }],
    ['smsCountries', { smsPerTenantPerDay: 0 }],
  ])('does not warn about %s with %j', (id, settings) => {
    expect(warningIds(settings)).not.toContain(id);
  });

  it('warns if the event sources can use more concurrent executions than the account has', () => {
    const quotaWarnings = (settings: Record<string, unknown>) =>
      warningsOf(settings).filter((text) => text.includes('lambdaConcurrencyQuota'));
    // 20 and a quarter of it for each type beyond the eight of the interface.
    const used = 511 + 25 * (notificationTypeIds.length - 8);
    expect(quotaWarnings({ lambdaConcurrencyQuota: 10 })).toEqual([
      expect.stringMatching(
        new RegExp(`^The event sources can use ${used} concurrent executions, and lambdaConcurrencyQuota is 10`),
      ),
    ]);
    expect(quotaWarnings({ lambdaConcurrencyQuota: used })).toHaveLength(1);
    expect(quotaWarnings({ lambdaConcurrencyQuota: used + 1 })).toEqual([]);
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

  it('encrypts every topic', () => {
    for (const id of idsOf('AWS::SNS::Topic')) expect(Resources[id]?.Properties).toHaveProperty('KmsMasterKeyId');
  });
});
