import { describe, expect, it } from 'vitest';
import { type References, textOf } from '../intrinsics.ts';
import { readTemplate } from '../template.ts';
import { template } from './support/template.ts';

const context = {
  endpointUrl: 'http://127.0.0.1:4566',
  apiUrl: 'http://127.0.0.1:3000',
  bundle: (key: string) => `/bundles/${key}`,
};
const plan = readTemplate(template, context);

describe('the plan of a template', () => {
  it('has functions with resolved environments, named after their constructs', () => {
    expect(plan.functions).toHaveLength(3);
    expect(plan.functions[0]).toEqual({
      name: 'enqueue',
      arn: 'arn:aws:lambda:us-east-1:000000000000:function:enqueue',
      directory: '/bundles/enqueue.zip',
      handler: 'index.handler',
      timeoutSeconds: 5,
      memoryMb: 256,
      environment: { QUEUE: 'http://127.0.0.1:4566/000000000000/Jobs', SCHEME: 'http' },
    });
    expect(plan.functions[1]?.environment).toEqual({
      TABLE: 'StorageTokens',
      TOPIC: 'arn:aws:sns:us-east-1:000000000000:alarms',
    });
  });

  it("has queues with CloudFormation's defaults and their redrive policies", () => {
    expect(plan.queues).toMatchObject([
      { logicalId: 'Dead', name: 'Jobs-Dead', visibilitySeconds: 30, retentionSeconds: 1_209_600 },
      {
        logicalId: 'Jobs',
        name: 'Jobs',
        arn: 'arn:aws:sqs:us-east-1:000000000000:Jobs',
        retentionSeconds: 345_600,
        redrive: { targetArn: 'arn:aws:sqs:us-east-1:000000000000:Jobs-Dead', maxReceiveCount: 2 },
      },
    ]);
  });

  it('has tables, topics, event sources, schedules, routes and outputs', () => {
    expect(plan.tables).toMatchObject([{ name: 'StorageTokens', keys: [{ AttributeName: 'pk', KeyType: 'HASH' }] }]);
    expect(plan.topicArns).toEqual(['arn:aws:sns:us-east-1:000000000000:alarms']);
    expect(plan.eventSources).toEqual([
      {
        functionName: 'work',
        queueArn: 'arn:aws:sqs:us-east-1:000000000000:Jobs',
        batchSize: 10,
        windowSeconds: 0,
        maxConcurrency: 2,
        reportsFailures: true,
      },
    ]);
    expect(plan.schedules).toEqual([
      {
        name: 'Report',
        isEnabled: false,
        periodMs: 300_000,
        service: 'sqs',
        action: 'SendMessage',
        input: '{"QueueUrl":"http://127.0.0.1:4566/000000000000/Jobs","MessageBody":"report"}',
        role: 'Role',
      },
    ]);
    expect(plan.routes).toEqual([
      { key: 'POST /jobs/{kind}', functionName: 'enqueue', timeoutMs: 10_000 },
      { key: '$default', functionName: 'fallback', timeoutMs: 10_000 },
    ]);
    expect(plan.output('TokensTable')).toBe('StorageTokens');
  });

  it('throws if an output is missing or cannot be resolved', () => {
    expect(() => plan.output('Other')).toThrow('The stack has no output Other.');
    expect(() => plan.output('Unresolvable')).toThrow('refers to Api.Arn, which does not exist locally');
  });

  const changed = (id: string, Type: string, Properties: object) => ({
    ...template,
    Resources: { ...template.Resources, [id]: { Type, Properties } },
  });

  it.each([
    [
      'a FIFO queue',
      changed('Jobs', 'AWS::SQS::Queue', { FifoQueue: true }),
      'does not support Jobs (AWS::SQS::Queue)',
    ],
    [
      'a table with an index',
      changed('Indexed', 'AWS::DynamoDB::Table', {
        KeySchema: [],
        AttributeDefinitions: [],
        GlobalSecondaryIndexes: [{}],
      }),
      'does not support Indexed (AWS::DynamoDB::Table)',
    ],
    [
      'a schedule that is not a rate',
      changed('Report', 'AWS::Scheduler::Schedule', { ScheduleExpression: 'cron(0 0 * * ? *)' }),
      'does not support Report (AWS::Scheduler::Schedule)',
    ],
  ])('rejects %s', (_, invalid, message) => {
    expect(() => readTemplate(invalid, context)).toThrow(message);
  });
});

describe('a template value', () => {
  const references: References = {
    ref: (id) => (id === 'Thing' ? 'thing' : undefined),
    attribute: (id, name) => (id === 'Thing' && name === 'Sub.Name' ? 'nested' : undefined),
  };

  it.each([
    [3, '3'],
    [{ Ref: 'AWS::Partition' }, 'aws'],
    [{ 'Fn::GetAtt': ['Thing', 'Sub.Name'] }, 'nested'],
    [{ 'Fn::Join': ['-', ['a', { Ref: 'Thing' }]] }, 'a-thing'],
  ])('%j resolves to %s', (value, text) => {
    expect(textOf(value, references)).toBe(text);
  });

  it.each([
    [{ Ref: 'Other' }, 'refers to Other'],
    [{ 'Fn::GetAtt': ['Thing', 'Arn'] }, 'refers to Thing.Arn'],
    [{ 'Fn::Join': ['-', 'a'] }, 'malformed Fn::Join'],
    [{ 'Fn::Sub': 'a' }, 'uses Fn::Sub'],
    [{ Ref: 'Thing', more: 1 }, 'where text is required'],
  ])('%j is rejected', (value, message) => {
    expect(() => textOf(value, references)).toThrow(message);
  });
});
