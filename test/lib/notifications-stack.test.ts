import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { everySetting } from '../support/settings.ts';
import { synthesized } from '../support/stack.ts';

const { stack, template } = synthesized();

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
   * A table or a queue whose id changes is a new one: its data, or the messages in it, stay behind in the old one. Change
   * this list only together with a plan for them.
   */
  it('keeps its tables and queues: their logical ids do not change', () => {
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

  it('has the tables that the runbook adopts after a first deploy was rolled back', () => {
    const runbook = readFileSync(new URL('../../RUNBOOK.md', import.meta.url), 'utf8');
    const adopted = [...runbook.matchAll(/"(Storage\w+)": \{"TableName": "MonitoringNotifications-(\w+)-/g)];
    expect(adopted.map(([, id]) => id).toSorted()).toEqual(idsOf('AWS::DynamoDB::Table'));
    for (const [, id, name] of adopted) expect(name).toBe(id);
    for (const id of idsOf('AWS::DynamoDB::Table')) expect(Resources[id]?.DeletionPolicy).toBe('Retain');
  });

  it('can stand beside another one of its kind: nothing has a fixed physical name', () => {
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
    /** These carry a name that need not be unique, or refer to another resource. */
    const harmless = [
      'AWS::ApiGatewayV2::Api',
      'AWS::IAM::Policy',
      'AWS::Lambda::EventSourceMapping',
      'AWS::Lambda::Permission',
    ];
    const named = Object.entries(Resources)
      .filter(([, { Type }]) => !harmless.includes(Type))
      .flatMap(([id, { Properties }]) =>
        names.filter((name) => typeof Properties[name] === 'string').map((name) => `${id} ${name}`),
      );
    expect(named).toEqual([]);
  });

  it('tells where its parts are', () => {
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

  it.each([
    ['by default', {}],
    ['with every setting', everySetting],
  ])('breaks none of the rules that CloudFormation has for templates: %s', (_, settings) => {
    expect(() => synthesized(settings, { isChecked: true })).not.toThrow();
  });

  it('leaves room among the 500 resources of a template, with every setting', () => {
    const { template } = synthesized(everySetting);
    expect(Object.keys(template.toJSON().Resources).length).toBeLessThan(350);
  });

  it('needs nothing at deploy but what the CDK itself needs', () => {
    expect(Object.keys(Parameters)).toEqual(['BootstrapVersion']);
  });

  it('warns that nothing is mailed, and nothing fed, before it is set from and to where', () => {
    const warnings = stack.node.metadata
      .filter(({ type }) => type === 'aws:cdk:warning')
      .map(({ data }) => String(data));
    expect(warnings.filter((text) => text.includes('emailFrom'))).toHaveLength(1);
    expect(warnings.filter((text) => text.includes('feedEndpoint'))).toHaveLength(1);
    expect(warnings).toHaveLength(2);
  });

  it('encrypts every topic, and refuses plain HTTP to it', () => {
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
