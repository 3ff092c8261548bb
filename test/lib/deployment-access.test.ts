import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { App } from 'aws-cdk-lib';
import { Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { AwsSolutionsChecks } from 'cdk-nag';
import fc from 'fast-check';
import { type References, textOf } from 'local-aws/intrinsics.ts';
import { afterAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { deploymentAccessApp } from '../../lib/deployment-access.ts';
import { boundaryName, deployRoleName, executionPolicyName } from '../../lib/execution-permissions.ts';
import { MAX_STACK_NAME_LENGTH } from '../../lib/stack-name.ts';
import { readStage, stageNames, type Target } from '../../lib/stages.ts';
import { allSettings } from '../support/settings.ts';
import { propertiesOf, synthesize, withOutputDirectory } from '../support/stack.ts';

const repository = 'acme/monitoring-notifications';
const { target } = readStage('prod');

const accessOf = (context: Record<string, unknown>, stagesDirectory?: string) =>
  withOutputDirectory((outdir) => {
    const app: App = deploymentAccessApp({ context, outdir, builtinCloudFormationValidation: false }, stagesDirectory);
    const [stack] = app.node.children.filter((child): child is Stack => child instanceof Stack);
    if (!stack) throw new Error('The app has no stack.');
    return { stack, template: Template.fromStack(stack), manifest: app.synth().manifest };
  });
const { stack, template } = accessOf({ stage: 'prod', repository });

/** The directories with stage files that tests wrote. */
const directories: string[] = [];
afterAll(() => {
  for (const directory of directories) rmSync(directory, { recursive: true });
});

/** Returns a directory of stage files in which the stage `prod` has this target, with other stages. */
const stagesWith = (prod: Target & Record<string, unknown>, others: Record<string, object> = {}): string => {
  const directory = mkdtempSync(join(tmpdir(), 'stages-'));
  directories.push(directory);
  for (const [name, stage] of Object.entries({ ...others, prod })) {
    writeFileSync(join(directory, `${name}.json`), JSON.stringify(stage));
  }
  return directory;
};

/** Settings that together give the stack every type of resource. */
const settingsCombinations: [name: string, settings: Record<string, unknown>][] = [
  ['the defaults', {}],
  ['all settings', allSettings],
  ['alarms by email', { alarmTarget: 'oncall@example.org' }],
  ['alarms to an existing topic', { alarmTarget: 'arn:aws:sns:us-east-1:000000000000:alarms' }],
  ['no deletion protection', { deletionProtection: false, egress: 'static' }],
  ['existing tables', { existingTables: 'Tokens=restored' }],
  ...stageNames().map((name): [string, Record<string, unknown>] => [`stage ${name}`, readStage(name).settings]),
];

const resourcesSchema = z.record(
  z.string(),
  z.object({ Type: z.string(), Properties: z.record(z.string(), z.unknown()).default({}) }),
);
const resourcesOf = (settings: Record<string, unknown>) =>
  Object.entries(resourcesSchema.parse(synthesize(settings).template.toJSON().Resources));
const typesOf = (settings: Record<string, unknown>): string[] => [
  ...new Set(resourcesOf(settings).map(([, { Type }]) => Type)),
];

/** The property with the name of a type whose permissions are limited by name. */
const nameProperties = new Map([
  ['AWS::CloudWatch::Alarm', 'AlarmName'],
  ['AWS::CloudWatch::Dashboard', 'DashboardName'],
  ['AWS::CloudWatch::InsightRule', 'RuleName'],
  ['AWS::DynamoDB::Table', 'TableName'],
  ['AWS::IAM::Role', 'RoleName'],
  ['AWS::Lambda::Function', 'FunctionName'],
  ['AWS::Logs::LogGroup', 'LogGroupName'],
  ['AWS::SNS::Topic', 'TopicName'],
  ['AWS::SQS::Queue', 'QueueName'],
  ['AWS::Scheduler::Schedule', 'Name'],
]);

/**
 * The types that CloudFormation does not name after the stack:
 * https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-properties-name.html
 */
const namedByLogicalId = ['AWS::CloudWatch::Dashboard', 'AWS::CloudWatch::InsightRule'];

const policySchema = z.object({ PolicyDocument: z.object({ Statement: z.array(z.unknown()) }) });

describe('the deployment role', () => {
  it.each([
    [repository, `repo:${repository}:environment:prod`],
    ['acme@12/notifications@45', 'repo:acme@12/notifications@45:environment:prod'],
  ])('can be assumed by one subject, without a wildcard: from the repository %s', (given, subject) => {
    const { template } = accessOf({ stage: 'prod', repository: given });
    template.resourceCountIs('AWS::IAM::Role', 1);
    const ISSUER = 'token.actions.githubusercontent.com';
    template.hasResourceProperties('AWS::IAM::Role', {
      RoleName: 'GitHubDeploy-MonitoringNotifications-prod',
      AssumeRolePolicyDocument: {
        Statement: [
          {
            Effect: 'Allow',
            Action: 'sts:AssumeRoleWithWebIdentity',
            Principal: { Federated: { Ref: Object.keys(template.findResources('AWS::IAM::OIDCProvider'))[0] } },
            Condition: { StringEquals: { [`${ISSUER}:aud`]: 'sts.amazonaws.com', [`${ISSUER}:sub`]: subject } },
          },
        ],
      },
    });
  });

  it('can only assume the bootstrap roles of its account and region', () => {
    expect(statementsOf(template, 'AWS::IAM::Policy')).toMatchObject([
      {
        isAllowing: true,
        actions: ['sts:AssumeRole'],
        resources: ['deploy-role', 'file-publishing-role', 'lookup-role'].map((role) =>
          iamArn(`role/cdk-hnb659fds-${role}-${target.account}-${target.region}`),
        ),
        isExcluding: false,
      },
    ]);
  });

  it('uses the existing OIDC provider of the account with oidcProvider=existing', () => {
    const { template } = accessOf({ stage: 'dev', repository, oidcProvider: 'existing' });
    template.resourceCountIs('AWS::IAM::OIDCProvider', 0);
    expect(JSON.stringify(template.findResources('AWS::IAM::Role'))).toContain(
      ':iam::000000000000:oidc-provider/token.actions.githubusercontent.com',
    );
  });
});

const oneOrMore = z.union([z.unknown().array(), z.unknown().transform((value) => [value])]);
const conditions = z.record(z.string(), z.record(z.string(), oneOrMore)).default({});
const statementSchema = z.strictObject({
  Effect: z.enum(['Allow', 'Deny']),
  Action: oneOrMore,
  Resource: oneOrMore.optional(),
  NotResource: oneOrMore.optional(),
  Condition: conditions,
});

/** A statement with its references resolved. */
type Statement = {
  isAllowing: boolean;
  actions: string[];
  resources: string[];
  /** Whether the statement applies to all resources except these. */
  isExcluding: boolean;
  conditions: [operator: string, key: string, values: string[]][];
};

/** Resolves the ARNs of resources to names as CloudFormation generates them. */
const arnOf = (service: string, resource: string, region = 'us-east-1'): string =>
  `arn:aws:${service}:${region}:000000000000:${resource}`;
const ARN_BY_TYPE: Record<string, (name: string) => string> = {
  'AWS::DynamoDB::Table': (name) => arnOf('dynamodb', `table/${name}`),
  'AWS::IAM::ManagedPolicy': (name) => arnOf('iam', `policy/${name}`, ''),
  'AWS::Lambda::Function': (name) => arnOf('lambda', `function:${name}`),
  'AWS::Logs::LogGroup': (name) => arnOf('logs', `log-group:${name}:*`),
  'AWS::SNS::Topic': (name) => arnOf('sns', name),
  'AWS::SQS::Queue': (name) => arnOf('sqs', name),
};
const referencesOf = (resources: z.infer<typeof resourcesSchema>): References => {
  const resolve = (id: string) => {
    const { Type = '', Properties = {} } = resources[id] ?? {};
    return ARN_BY_TYPE[Type]?.(String(Properties.ManagedPolicyName ?? `MonitoringNotifications-${id}`)) ?? id;
  };
  return { ref: resolve, attribute: resolve };
};

const readStatement = (statement: unknown, references: References): Statement => {
  const { Effect, Action, Resource, NotResource, Condition } = statementSchema.parse(statement);
  const texts = (values: unknown[] = []) => values.map((value) => textOf(value, references));
  return {
    isAllowing: Effect === 'Allow',
    actions: texts(Action),
    resources: texts(Resource ?? NotResource),
    isExcluding: NotResource !== undefined,
    conditions: Object.entries(Condition).flatMap(([operator, keys]) =>
      Object.entries(keys).map(([key, values]): Statement['conditions'][number] => [operator, key, texts(values)]),
    ),
  };
};

/** Returns the statements of the policies of a type in a template. */
const statementsOf = (given: Template, type: string, matches: (id: string) => boolean = () => true): Statement[] => {
  const resources = resourcesSchema.parse(given.toJSON().Resources);
  return Object.entries(resources)
    .filter(([id, { Type }]) => Type === type && matches(id))
    .flatMap(([, { Properties }]) => policySchema.parse(Properties).PolicyDocument.Statement)
    .map((statement) => readStatement(statement, referencesOf(resources)));
};

type Request = { action: string; resource: string; context?: Record<string, string> };

const fits = (text: string, pattern: string): boolean =>
  new RegExp(`^${pattern.split('*').map(RegExp.escape).join('.*')}$`, 's').test(text);

const CONDITIONS: Record<string, (value: string | undefined, values: string[]) => boolean> = {
  StringEquals: (value, values) => value !== undefined && values.includes(value),
  ArnNotLike: (value, values) => value === undefined || !values.some((pattern) => fits(value, pattern)),
  ArnLike: (value, values) => value !== undefined && values.some((pattern) => fits(value, pattern)),
};

const applies = (statement: Statement, { action, resource, context = {} }: Request): boolean =>
  statement.actions.some((pattern) => fits(action, pattern)) &&
  statement.resources.some((pattern) => fits(resource, pattern)) !== statement.isExcluding &&
  statement.conditions.every(([operator, key, values]) => {
    const isMet = CONDITIONS[operator];
    if (!isMet) throw new Error(`The test does not know the operator ${operator}.`);
    return isMet(context[key], values);
  });

/** Evaluates a request as IAM does: some statement allows it and none denies it. */
const isAllowed = (statements: readonly Statement[], request: Request): boolean => {
  const applying = statements.filter((statement) => applies(statement, request));
  return applying.some(({ isAllowing }) => isAllowing) && applying.every(({ isAllowing }) => isAllowing);
};

const execution = statementsOf(template, 'AWS::IAM::ManagedPolicy', (id) => id.startsWith('Execution'));
const boundaryArn = arnOf('iam', `policy/${boundaryName('prod')}`, '');
const withBoundary = { 'iam:PermissionsBoundary': boundaryArn };
const iamArn = (resource: string) => arnOf('iam', resource, '');

const NAME = 'MonitoringNotifications-Some-1A2B3C';
const ROLE = iamArn('role/MonitoringNotificati-Some-1A2B3C');
const functionArn = arnOf('lambda', `function:${NAME}`);

/**
 * What CloudFormation does with each type of the stack: a service, actions and a resource, from the `handlers` of the
 * schemas of the types: https://docs.aws.amazon.com/cloudformation-cli/latest/userguide/resource-type-schema.html
 */
const NEEDED = Map.groupBy(
  `
ApiGatewayV2::Api           apigateway POST GET PATCH PUT DELETE apigateway:/apis/a1
ApiGatewayV2::Api           apigateway POST GET PATCH PUT DELETE apigateway:/tags/arn
ApiGatewayV2::ApiMapping    apigateway POST GET PATCH DELETE apigateway:/domainnames/api.example.org/apimappings
ApiGatewayV2::DomainName    apigateway POST GET PATCH DELETE apigateway:/domainnames
ApiGatewayV2::DomainName    iam CreateServiceLinkedRole iam:role/aws-service-role/ops.apigateway.amazonaws.com/Role
ApiGatewayV2::Integration   apigateway POST GET PATCH DELETE apigateway:/apis/a1/integrations/i1
ApiGatewayV2::Route         apigateway POST GET PATCH DELETE apigateway:/apis/a1/routes/r1
ApiGatewayV2::Stage         apigateway POST GET PATCH DELETE apigateway:/apis/a1/stages/s1
ApiGatewayV2::Stage         logs CreateLogDelivery GetLogDelivery UpdateLogDelivery DeleteLogDelivery ListLogDeliveries *
ApiGatewayV2::Stage         logs PutResourcePolicy DescribeResourcePolicies DescribeLogGroups *
CloudWatch::Alarm           cloudwatch PutMetricAlarm DeleteAlarms TagResource alarm:NAME
CloudWatch::Alarm           cloudwatch DescribeAlarms *
CloudWatch::Dashboard       cloudwatch PutDashboard GetDashboard DeleteDashboards :dashboard/NAME
CloudWatch::InsightRule     cloudwatch PutInsightRule DeleteInsightRules insight-rule/NAME
CloudWatch::InsightRule     cloudwatch DescribeInsightRules *
DynamoDB::Table             dynamodb CreateTable UpdateTimeToLive table/NAME
EC2::EIP                    ec2 AllocateAddress AssociateAddress DisassociateAddress ReleaseAddress CreateTags DeleteTags vpc/v
EC2::InternetGateway        ec2 CreateInternetGateway DeleteInternetGateway vpc/v
EC2::NatGateway             ec2 CreateNatGateway DeleteNatGateway vpc/v
EC2::NatGateway             iam CreateServiceLinkedRole iam:role/aws-service-role/natgateway.amazonaws.com/Role
EC2::Route                  ec2 CreateRoute DeleteRoute ReplaceRoute vpc/v
EC2::RouteTable             ec2 CreateRouteTable DeleteRouteTable vpc/v
EC2::SecurityGroup          ec2 CreateSecurityGroup DeleteSecurityGroup AuthorizeSecurityGroupEgress vpc/v
EC2::SecurityGroup          ec2 RevokeSecurityGroupEgress UpdateSecurityGroupRuleDescriptionsEgress vpc/v
EC2::Subnet                 ec2 CreateSubnet DeleteSubnet ModifySubnetAttribute vpc/v
EC2::SubnetRouteTableAssociation ec2 AssociateRouteTable DisassociateRouteTable ReplaceRouteTableAssociation vpc/v
EC2::VPC                    ec2 CreateVpc DeleteVpc ModifyVpcAttribute ModifyVpcTenancy vpc/v
EC2::VPC                    ec2 DescribeVpcs *
EC2::VPCEndpoint            ec2 CreateVpcEndpoint DeleteVpcEndpoints ModifyVpcEndpoint vpc/v
EC2::VPCGatewayAttachment   ec2 AttachInternetGateway DetachInternetGateway vpc/v
IAM::Policy                 iam PutRolePolicy DeleteRolePolicy iam:role/NAME
IAM::Role                   iam CreateRole DeleteRole UpdateRole UpdateAssumeRolePolicy UpdateRoleDescription iam:role/NAME
IAM::Role                   iam TagRole UntagRole PutRolePermissionsBoundary GetRole GetRolePolicy iam:role/NAME
IAM::Role                   iam ListRolePolicies ListAttachedRolePolicies iam:role/NAME
KMS::Key                    kms CreateKey *
KMS::Key                    kms DescribeKey DisableKey DisableKeyRotation EnableKey EnableKeyRotation GetKeyPolicy key/k1
KMS::Key                    kms GetKeyRotationStatus ListResourceTags PutKeyPolicy ScheduleKeyDeletion key/k1
KMS::Key                    kms TagResource UntagResource UpdateKeyDescription key/k1
Lambda::EventSourceMapping  lambda CreateEventSourceMapping UpdateEventSourceMapping DeleteEventSourceMapping *
Lambda::EventSourceMapping  lambda GetEventSourceMapping ListTags TagResource event-source-mapping:e1
Lambda::Function            lambda CreateFunction UpdateFunctionCode PutFunctionRecursionConfig function:NAME
Lambda::Function            iam PassRole iam:role/NAME
Lambda::Function            s3 GetObject GetObjectVersion s3:cdk-hnb659fds-assets-000000000000-us-east-1/a.zip
Lambda::Function            ec2 DescribeSecurityGroups *
Lambda::Permission          lambda AddPermission RemovePermission GetPolicy function:NAME
Logs::LogGroup              logs CreateLogGroup PutRetentionPolicy DescribeIndexPolicies log-group:NAME
Logs::LogGroup              logs DescribeLogGroups *
Logs::MetricFilter          logs PutMetricFilter DeleteMetricFilter log-group:NAME
Route53::RecordSet          route53 ChangeResourceRecordSets GetHostedZone ListResourceRecordSets route53:hostedzone/Z1
Route53::RecordSet          route53 GetChange route53:change/C1
SES::ConfigurationSet       ses CreateConfigurationSet DeleteConfigurationSet DescribeConfigurationSet configuration-set/c
SES::ConfigurationSet       ses TagResource GetConfigurationSet PutConfigurationSetSendingOptions configuration-set/c
SES::ConfigurationSetEventDestination ses CreateConfigurationSetEventDestination configuration-set/c
SES::ConfigurationSetEventDestination ses UpdateConfigurationSetEventDestination configuration-set/c
SES::ConfigurationSetEventDestination ses DeleteConfigurationSetEventDestination configuration-set/c
SES::ConfigurationSetEventDestination ses GetConfigurationSetEventDestinations configuration-set/c
SES::ConfigurationSetEventDestination ses DescribeConfigurationSet *
SES::EmailIdentity          ses CreateEmailIdentity DeleteEmailIdentity GetEmailIdentity TagResource identity/example.org
SES::EmailIdentity          ses PutEmailIdentityMailFromAttributes ListTagsForResource UntagResource identity/example.org
SNS::Subscription           sns Subscribe NAME
SNS::Subscription           sns GetSubscriptionAttributes SetSubscriptionAttributes Unsubscribe *
SNS::Topic                  sns CreateTopic GetDataProtectionPolicy DeleteTopic NAME
SNS::TopicPolicy            sns SetTopicAttributes NAME
SQS::Queue                  sqs CreateQueue GetQueueAttributes DeleteQueue NAME
SQS::QueuePolicy            sqs SetQueueAttributes NAME
Scheduler::Schedule         scheduler CreateSchedule UpdateSchedule schedule/default/NAME
Scheduler::Schedule         iam PassRole iam:role/NAME
`
    .trim()
    .split('\n'),
  (line) => `AWS::${line.split(' ', 1)[0]}`,
);

/** The resources that `NEEDED` writes with a prefix, because their ARNs lack the region or the account. */
const ARN_PREFIXES: Record<string, string> = {
  'apigateway:': 'arn:aws:apigateway:us-east-1::',
  'iam:': iamArn(''),
  'route53:': 'arn:aws:route53:::',
  's3:': 'arn:aws:s3:::',
  ':': arnOf('cloudwatch', '', ''),
};
const neededArn = (service: string, resource: string): string => {
  const name = resource.replace('NAME', resource.startsWith('iam:') ? 'MonitoringNotificati-Some-1A2B3C' : NAME);
  const [prefix, arn] = Object.entries(ARN_PREFIXES).find(([each]) => name.startsWith(each)) ?? [];
  if (prefix !== undefined) return arn + name.slice(prefix.length);
  return name === '*' ? name : arnOf(service, name);
};

/** Parses a service, an action and a resource. */
const requestOf = (text: string): Request => {
  const [service = '', action, resource = ''] = text.split(' ');
  return { action: `${service}:${action}`, resource: neededArn(service, resource) };
};

/** The condition keys of the requests of CloudFormation for a type. */
const contextOf = (type: string): Record<string, string> => ({
  ...withBoundary,
  'iam:PassedToService': type.startsWith('AWS::Scheduler') ? 'scheduler.amazonaws.com' : 'lambda.amazonaws.com',
  'iam:AWSServiceName': type.startsWith('AWS::EC2') ? 'natgateway.amazonaws.com' : 'ops.apigateway.amazonaws.com',
  'lambda:FunctionArn': functionArn,
});

describe('the execution policy', () => {
  it.each([...NEEDED])('allows what CloudFormation needs for %s', (type, lines) => {
    const refused = lines.flatMap((line) => {
      const [, service = '', ...actions] = line.split(/ +/);
      const resource = neededArn(service, actions.pop() ?? '');
      return actions
        .map((action) => ({ action: `${service}:${action}`, resource, context: contextOf(type) }))
        .filter((request) => !isAllowed(execution, request));
    });
    expect(refused).toEqual([]);
  });

  it('covers exactly the types that the stack can have', () => {
    const types = settingsCombinations.flatMap(([, settings]) => typesOf(settings));
    const all = typesOf({ ...allSettings, alarmTarget: 'oncall@example.org' });
    expect([...new Set([...types, ...all])].toSorted()).toEqual([...NEEDED.keys()].toSorted());
  });

  it.each(settingsCombinations)('allows the name of every resource: with %s', (_, settings) => {
    const otherwiseNamed = resourcesOf(settings).filter(([, { Type, Properties }]) => {
      const property = nameProperties.get(Type);
      if (property === undefined) return false;
      const name = Properties[property];
      if (name === undefined) return namedByLogicalId.includes(Type);
      return !textOf(name, { ref: (id) => id, attribute: (id) => id }).startsWith('MonitoringNotifications');
    });
    expect(otherwiseNamed.map(([id]) => id)).toEqual([]);
  });

  it.each([
    'dynamodb table/Orders',
    'sqs orders',
    'sns orders',
    'lambda function:orders',
    'logs log-group:orders',
    'scheduler schedule/default/orders',
    'events rule/orders',
    'cloudwatch alarm:orders',
    's3 s3:orders/1.json',
    'secretsmanager secret:orders',
  ])('allows nothing with resources that are not named after the stack: %s', (text) => {
    const [service = '', resource = ''] = text.split(' ');
    const actions = ['Delete', 'GetItem', 'PutItem', 'GetObject', 'ReceiveMessage', 'InvokeFunction'];
    const isAllowedAction = (action: string) =>
      isAllowed(execution, { action: `${service}:${action}`, resource: neededArn(service, resource) });
    expect(actions.filter(isAllowedAction)).toEqual([]);
  });

  it.each([
    'kms Decrypt key/k1',
    'kms GenerateDataKey key/k1',
    'kms CreateGrant key/k1',
    'ses SendRawEmail identity/example.org',
    'ses CreateEmailIdentityPolicy identity/example.org',
    'ec2 RunInstances instance/i',
  ])('allows no use of keys, no email and no instance: %s', (text) => {
    expect(isAllowed(execution, requestOf(text))).toBe(false);
  });
});

const BOOTSTRAP_ROLE = iamArn('role/cdk-hnb659fds-cfn-exec-role-1-us-east-1');
const DEPLOYMENT_ROLE = iamArn(`role/${deployRoleName('prod')}`);
const ADMINISTRATOR_ACCESS = 'arn:aws:iam::aws:policy/AdministratorAccess';
const withOther = (boundary: string) => ({ 'iam:PermissionsBoundary': boundary });

/** What an attacker with the execution policy tries, who can deploy any template. */
const ATTACKS: [attack: string, action: string, resource: string, context?: Record<string, string>][] = [
  ['create a role without the boundary', 'CreateRole', ROLE],
  ['create a role with another boundary', 'CreateRole', ROLE, withOther(iamArn('policy/MonitoringNotifications-b'))],
  ['attach AdministratorAccess to a role without the boundary', 'AttachRolePolicy', ROLE],
  ['give permissions to a role without the boundary', 'PutRolePolicy', ROLE],
  ['remove the boundary of a role', 'DeleteRolePermissionsBoundary', ROLE, withBoundary],
  ['replace the boundary of a role', 'PutRolePermissionsBoundary', ROLE, withOther(ADMINISTRATOR_ACCESS)],
  ['change the boundary', 'CreatePolicyVersion', boundaryArn],
  ['restore an earlier boundary', 'SetDefaultPolicyVersion', boundaryArn],
  ['delete the boundary', 'DeletePolicy', boundaryArn],
  ['change its own policy', 'CreatePolicyVersion', iamArn(`policy/${deployRoleName('prod')}-execution`)],
  ['give permissions to the execution role', 'PutRolePolicy', BOOTSTRAP_ROLE],
  ['attach a policy to the execution role', 'AttachRolePolicy', BOOTSTRAP_ROLE],
  [
    'trust others with a bootstrap role',
    'UpdateAssumeRolePolicy',
    iamArn('role/cdk-hnb659fds-deploy-role-1-us-east-1'),
  ],
  ['trust another repository', 'UpdateAssumeRolePolicy', DEPLOYMENT_ROLE],
  ['give permissions to the deployment role', 'PutRolePolicy', DEPLOYMENT_ROLE, withBoundary],
];

/** What the policies of another application in the same bootstrap stack may allow. */
const ADMINISTRATOR: Statement = {
  isAllowing: true,
  actions: ['*'],
  resources: ['*'],
  isExcluding: false,
  conditions: [],
};

describe('an attacker who can deploy any template', () => {
  it.each(ATTACKS)('cannot %s, even if another application permits everything', (_, name, resource, context = {}) => {
    const request = { action: `iam:${name}`, resource, context };
    expect(isAllowed(execution, request)).toBe(false);
    expect(isAllowed([...execution, ADMINISTRATOR], request)).toBe(false);
  });

  it('cannot use IAM for anything but roles with names of the stack', () => {
    const name = fc.stringMatching(/^[\w+=,.@-]{1,40}$/).filter((text) => !text.startsWith('MonitoringNotificati'));
    const types = 'role user policy group instance-profile oidc-provider saml-provider';
    const actions =
      'CreateRole PassRole PutRolePolicy AttachRolePolicy UpdateAssumeRolePolicy CreateUser CreateAccessKey CreatePolicy ' +
      'CreatePolicyVersion AddRoleToInstanceProfile DeleteRole GetRole UpdateOpenIDConnectProviderThumbprint PutUserPolicy ' +
      'PutRolePermissionsBoundary TagRole';
    const type = fc.constantFrom(...types.split(' '));
    const action = fc.constantFrom(...actions.split(' '));
    const service = fc.constantFrom('lambda.amazonaws.com', 'ec2.amazonaws.com');
    fc.assert(
      fc.property(name, type, action, service, fc.boolean(), (text, kind, verb, passedTo, isBounded) => {
        const context = { 'iam:PassedToService': passedTo, ...(isBounded && withBoundary) };
        const request = { action: `iam:${verb}`, resource: iamArn(`${kind}/${text}`), context };
        expect(isAllowed(execution, request)).toBe(false);
      }),
    );
  });

  it.each(['ec2', 'glue', 'cloudformation'])('cannot pass the roles of the stack to the service %s', (service) => {
    const context = { 'iam:PassedToService': `${service}.amazonaws.com` };
    expect(isAllowed(execution, { action: 'iam:PassRole', resource: ROLE, context })).toBe(false);
  });

  it.each([
    'sts AssumeRole iam:role/cdk-hnb659fds-cfn-exec-role-1-us-east-1',
    'iam CreateRole iam:role/NAME',
    'iam PassRole iam:role/NAME',
    'dynamodb GetItem table/Orders',
    's3 GetObject s3:orders/1.json',
    'lambda UpdateFunctionCode function:NAME',
    'ec2 AttachNetworkInterface network-interface/eni-1',
    'sns Publish orders',
    'kms Decrypt key/k1',
    'secretsmanager GetSecretValue secret:orders',
  ])('cannot leave the stack with a role that it creates, because the boundary limits the role: %s', (text) => {
    expect(isAllowed(boundaryOf(template), requestOf(text))).toBe(false);
  });
});

const boundaryOf = (access: Template): Statement[] =>
  statementsOf(access, 'AWS::IAM::ManagedPolicy', (id) => id.startsWith('Boundary'));

describe('the permissions boundary', () => {
  it.each(settingsCombinations)('permits everything that the roles of the stack allow: with %s', (_, settings) => {
    const access = accessOf({ stage: 'prod', repository }, stagesWith({ ...target, ...settings }));
    const boundary = boundaryOf(access.template);
    const requests = statementsOf(synthesize(settings).template, 'AWS::IAM::Policy')
      .filter(({ isAllowing }) => isAllowing)
      .flatMap(({ actions, resources, isExcluding }) =>
        actions.flatMap((action) =>
          // The only statement that excludes resources is for SMS.
          (isExcluding ? ['+12025550123'] : resources).map((resource): Request => ({ action, resource })),
        ),
      );
    expect(requests.filter((request) => !isAllowed(boundary, request))).toEqual([]);
    expect(requests.length).toBeGreaterThan(100);
  });

  it('permits what SNS does with its key for a publisher, and no other use of keys', () => {
    const context = { 'kms:ViaService': 'sns.us-east-1.amazonaws.com' };
    for (const action of ['kms:GenerateDataKey', 'kms:Decrypt']) {
      const request = { action, resource: arnOf('kms', 'key/k1') };
      expect(isAllowed(boundaryOf(template), { ...request, context })).toBe(true);
      const viaOther = { 'kms:ViaService': 'dynamodb.us-east-1.amazonaws.com' };
      expect(isAllowed(boundaryOf(template), { ...request, context: viaOther })).toBe(false);
    }
  });

  it.each([
    ['the name that a stage file contains', boundaryName('prod')],
    ['an object as the CDK reads it', { name: boundaryName('prod') }],
  ])('applies to every role of the stack, from %s', (_, given) => {
    const { template } = synthesize({ ...allSettings, '@aws-cdk/core:permissionsBoundary': given });
    const roles = Object.values(resourcesSchema.parse(template.findResources('AWS::IAM::Role')));
    expect(roles.length).toBeGreaterThan(20);
    for (const { Properties } of roles) {
      expect(textOf(Properties.PermissionsBoundary, { ref: () => '', attribute: () => '' })).toBe(boundaryArn);
      expect(Properties).not.toHaveProperty('ManagedPolicyArns');
    }
  });

  it('has the name that the output tells for the stage file', () => {
    expect(template.findOutputs('PermissionsBoundary').PermissionsBoundary).toMatchObject({
      Value: 'GitHubDeploy-MonitoringNotifications-prod-boundary',
      Description: 'The value of "@aws-cdk/core:permissionsBoundary" in bin/stages/prod.json',
    });
  });
});

describe('two stages in one account and region', () => {
  const boundaryKey = '@aws-cdk/core:permissionsBoundary';
  const targets = { prod: target, stage: readStage('stage').target };
  const fileOf = (stage: 'prod' | 'stage') => ({ ...targets[stage], [boundaryKey]: boundaryName(stage) });
  const directory = stagesWith(fileOf('prod'), { stage: fileOf('stage'), dev: { ...target, region: 'eu-west-1' } });
  const access = {
    prod: accessOf({ stage: 'prod', repository }, directory).template,
    stage: accessOf({ stage: 'stage', repository, oidcProvider: 'existing' }, directory).template,
  };
  const stages = ['prod', 'stage'] as const;
  const executionOf = (stage: (typeof stages)[number]) =>
    statementsOf(access[stage], 'AWS::IAM::ManagedPolicy', (id) => id.startsWith('Execution'));
  /** The bootstrap role has both policies. */
  const both = stages.flatMap(executionOf);
  const boundaryArnOf = (stage: string) => iamArn(`policy/${boundaryName(stage)}`);
  const roleChanges = ['CreateRole', 'PutRolePolicy', 'DeleteRolePolicy', 'PutRolePermissionsBoundary'];

  it.each(stages)('let CloudFormation change roles with the boundary of each of them: %s', (stage) => {
    const context = withOther(boundaryArnOf(stage));
    const refused = roleChanges.filter((name) => !isAllowed(both, { action: `iam:${name}`, resource: ROLE, context }));
    expect(refused).toEqual([]);
  });

  it('have a bootstrap command with the policies of both', () => {
    const command = JSON.stringify(access.stage.findOutputs('BootstrapCommand'));
    expect(command).toContain(`policy/${executionPolicyName('prod')}`);
    expect(command).not.toContain(executionPolicyName('dev'));
  });
});

/** Returns the JSON of a policy document as IAM receives it, in the partition with the longest name. */
const deployedLength = (document: unknown): number =>
  JSON.stringify(document, (_, value: unknown) =>
    z
      .object({ 'Fn::Join': z.unknown() })
      .or(z.object({ Ref: z.string() }))
      .safeParse(value).success
      ? textOf(value, { ref: () => boundaryArn, attribute: () => boundaryArn }).replace(/^arn:aws:/, 'arn:aws-us-gov:')
      : value,
  ).length;

it('the policies stay within the 6,144 characters of a managed policy, with the longest names of stack and region', () => {
  const longest = { ...target, region: 'ap-northeast-1', stackName: 'x'.repeat(MAX_STACK_NAME_LENGTH) };
  const { template } = accessOf({ stage: 'prod', repository }, stagesWith(longest));
  const documents = [...propertiesOf(template, 'AWS::IAM::ManagedPolicy', policySchema).values()];
  const lengths = documents.map(({ PolicyDocument }) => deployedLength(PolicyDocument));
  expect(lengths.map((length) => length < 6_144)).toEqual([true, true]);
});

describe('the stack of the deployment access', () => {
  it('is deployed to the account and region of the stage without the bootstrap stack, which it precedes', () => {
    const { stack, template, manifest } = accessOf({ stage: 'prod', repository });
    expect([stack.stackName, stack.account, stack.region]).toEqual([
      'MonitoringNotifications-deployment-access',
      target.account,
      target.region,
    ]);
    expect(template.toJSON().Parameters).toBeUndefined();
    expect(manifest.artifacts?.[stack.artifactId]?.properties).not.toHaveProperty('assumeRoleArn');
  });

  it('has only findings of cdk-nag about wildcards in the execution policies', () => {
    const violations = new AwsSolutionsChecks().validateScope(stack).violations;
    expect(violations.filter(({ ruleName }) => !ruleName.startsWith('AwsSolutions-IAM5['))).toEqual([]);
    for (const { violatingResources } of violations) {
      for (const { constructPath } of violatingResources) expect(constructPath).toMatch(/Policy\/Resource$/);
    }
  });

  it.each([
    [{}, '-c stage is required. -c repository is required'],
    [{ stage: 'prod' }, '-c repository is required'],
    [{ stage: 'prod', repository, oidcProvider: 'x' }, '-c oidcProvider must be create or existing'],
    [{ stage: 'prdo', repository }, '"prdo" is not a stage; the stages are dev, prod, stage'],
  ])('is rejected with one sentence if its context is invalid: %j', (context, message) => {
    expect(() => accessOf(context)).toThrow(new Error(message));
  });

  it.each(['acme', 'acme/*', 'acme@1/alerts', 'repo:acme/alerts'])(
    'is rejected if its repository has another form: %s',
    (given) => {
      expect(() => accessOf({ stage: 'prod', repository: given })).toThrow(
        new Error('-c repository must have the form owner/name, or owner@ID/name@ID with the numeric IDs of both'),
      );
    },
  );
});
