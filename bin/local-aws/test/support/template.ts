const metadata = (path: string) => ({ Metadata: { 'aws:cdk:path': `Test/${path}/Resource` } });

const lambda = (name: string, variables: Record<string, unknown> = {}) => ({
  Type: 'AWS::Lambda::Function',
  Properties: {
    Code: { S3Key: `${name}.zip` },
    Handler: 'index.handler',
    LoggingConfig: { LogFormat: 'JSON', SystemLogLevel: 'WARN' },
    Timeout: 5,
    MemorySize: 256,
    Role: { 'Fn::GetAtt': ['Role', 'Arn'] },
    Environment: { Variables: variables },
  },
  ...metadata(`${name}/Function`),
});

const route = (id: string, key: string, functionId: string) => ({
  [`${id}Integration`]: {
    Type: 'AWS::ApiGatewayV2::Integration',
    Properties: {
      ApiId: { Ref: 'Api' },
      IntegrationType: 'AWS_PROXY',
      IntegrationUri: { 'Fn::GetAtt': [functionId, 'Arn'] },
      PayloadFormatVersion: '2.0',
      TimeoutInMillis: 10_000,
    },
  },
  [id]: {
    Type: 'AWS::ApiGatewayV2::Route',
    Properties: {
      ApiId: { Ref: 'Api' },
      RouteKey: key,
      Target: { 'Fn::Join': ['', ['integrations/', { Ref: `${id}Integration` }]] },
    },
  },
});

/** A small template as CDK synthesizes it. */
export const template = {
  Resources: {
    Role: { Type: 'AWS::IAM::Role', Properties: {} },
    Dead: { Type: 'AWS::SQS::Queue', Properties: { MessageRetentionPeriod: 1_209_600 }, ...metadata('Jobs/Dead') },
    Jobs: {
      Type: 'AWS::SQS::Queue',
      Properties: {
        VisibilityTimeout: 30,
        RedrivePolicy: { deadLetterTargetArn: { 'Fn::GetAtt': ['Dead', 'Arn'] }, maxReceiveCount: 2 },
      },
      ...metadata('Jobs/Queue'),
    },
    StorageTokens: {
      Type: 'AWS::DynamoDB::Table',
      Properties: {
        KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
        AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
        BillingMode: 'PAY_PER_REQUEST',
      },
    },
    Alarms: { Type: 'AWS::SNS::Topic', Properties: { TopicName: 'alarms' } },
    Api: { Type: 'AWS::ApiGatewayV2::Api', Properties: { Name: 'test' } },
    Enqueue: lambda('enqueue', { QUEUE: { Ref: 'Jobs' }, SCHEME: 'http' }),
    Work: lambda('work', { TABLE: { Ref: 'StorageTokens' }, TOPIC: { Ref: 'Alarms' } }),
    Fallback: lambda('fallback'),
    WorkSource: {
      Type: 'AWS::Lambda::EventSourceMapping',
      Properties: {
        BatchSize: 10,
        EventSourceArn: { 'Fn::GetAtt': ['Jobs', 'Arn'] },
        FunctionName: { Ref: 'Work' },
        FunctionResponseTypes: ['ReportBatchItemFailures'],
        ScalingConfig: { MaximumConcurrency: 2 },
      },
    },
    Report: {
      Type: 'AWS::Scheduler::Schedule',
      Properties: {
        FlexibleTimeWindow: { Mode: 'OFF' },
        ScheduleExpression: 'rate(5 minutes)',
        // So that tests of queues receive only their own messages.
        State: 'DISABLED',
        Target: {
          Arn: { 'Fn::Join': ['', ['arn:', { Ref: 'AWS::Partition' }, ':scheduler:::aws-sdk:sqs:sendMessage']] },
          Input: { 'Fn::Join': ['', ['{"QueueUrl":"', { Ref: 'Jobs' }, '","MessageBody":"report"}']] },
          RoleArn: { 'Fn::GetAtt': ['Role', 'Arn'] },
        },
      },
    },
    ...route('EnqueueRoute', 'POST /jobs/{kind}', 'Enqueue'),
    ...route('FallbackRoute', '$default', 'Fallback'),
  },
  Outputs: {
    TokensTable: { Value: { Ref: 'StorageTokens' } },
    AccountsTable: { Value: { Ref: 'StorageTokens' } },
    AuditsTable: { Value: { Ref: 'StorageTokens' } },
    AuditRetentionDays: { Value: '90' },
    AlarmEventsQueueUrl: { Value: { Ref: 'Jobs' } },
    Unresolvable: { Value: { 'Fn::GetAtt': ['Api', 'Arn'] } },
  },
};
