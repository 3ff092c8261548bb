import { Aws } from 'aws-cdk-lib';
import { Effect, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { Target } from './stages.ts';

/**
 * CloudFormation starts the names of resources with the name of the stack, and shortens it where names are limited to
 * 64 characters, such as those of roles. It keeps at least this many characters.
 */
const NAME_PREFIX_LENGTH = 20;

/** Permissions for one or several resource types. */
type Permission = {
  types: readonly string[];
  actions: readonly string[];
  resources: readonly string[];
  conditions?: Record<string, Record<string, string | string[]>>;
};

const namesOf = ({ stackName, account, region }: Target) => ({
  /** The start of the names of all resources that CloudFormation names after the stack. */
  prefix: stackName.slice(0, NAME_PREFIX_LENGTH),
  /** Returns the ARN of a resource of this account. */
  arn: (service: string, resource: string, { regional = true } = {}): string =>
    `arn:${Aws.PARTITION}:${service}:${regional ? region : ''}:${account}:${resource}`,
});

/** The API, the pipeline and their data. */
const servicePermissions = (target: Target): Permission[] => {
  const { account, region } = target;
  const { prefix, arn } = namesOf(target);
  const roles = arn('iam', `role/${prefix}*`, { regional: false });
  const api = `arn:${Aws.PARTITION}:apigateway:${region}::`;
  return [
    {
      types: ['AWS::DynamoDB::Table'],
      actions: [
        'dynamodb:CreateTable',
        'dynamodb:DeleteTable',
        'dynamodb:UpdateTable',
        'dynamodb:UpdateTimeToLive',
        'dynamodb:UpdateContinuousBackups',
        'dynamodb:Describe*',
        'dynamodb:GetResourcePolicy',
        'dynamodb:ListTagsOfResource',
        'dynamodb:TagResource',
        'dynamodb:UntagResource',
      ],
      resources: [arn('dynamodb', `table/${prefix}*`)],
    },
    {
      types: ['AWS::SQS::Queue', 'AWS::SQS::QueuePolicy'],
      actions: [
        'sqs:CreateQueue',
        'sqs:DeleteQueue',
        'sqs:GetQueueAttributes',
        'sqs:GetQueueUrl',
        'sqs:SetQueueAttributes',
        'sqs:ListQueueTags',
        'sqs:TagQueue',
        'sqs:UntagQueue',
      ],
      resources: [arn('sqs', `${prefix}*`)],
    },
    {
      types: ['AWS::SNS::Topic', 'AWS::SNS::TopicPolicy', 'AWS::SNS::Subscription'],
      actions: [
        'sns:CreateTopic',
        'sns:DeleteTopic',
        'sns:GetDataProtectionPolicy',
        'sns:GetTopicAttributes',
        'sns:SetTopicAttributes',
        'sns:ListSubscriptionsByTopic',
        'sns:ListTagsForResource',
        'sns:TagResource',
        'sns:UntagResource',
        'sns:Subscribe',
      ],
      resources: [arn('sns', `${prefix}*`)],
    },
    {
      types: ['AWS::SNS::Subscription'],
      actions: ['sns:GetSubscriptionAttributes', 'sns:SetSubscriptionAttributes', 'sns:Unsubscribe'],
      resources: ['*'],
    },
    {
      types: ['AWS::Lambda::Function', 'AWS::Lambda::Permission'],
      actions: [
        'lambda:CreateFunction',
        'lambda:DeleteFunction',
        'lambda:GetFunction*',
        'lambda:GetPolicy',
        'lambda:GetRuntimeManagementConfig',
        'lambda:ListTags',
        'lambda:PutFunctionRecursionConfig',
        'lambda:UpdateFunctionCode',
        'lambda:UpdateFunctionConfiguration',
        'lambda:AddPermission',
        'lambda:RemovePermission',
        'lambda:TagResource',
        'lambda:UntagResource',
      ],
      resources: [arn('lambda', `function:${prefix}*`)],
    },
    {
      types: ['AWS::Lambda::Function'],
      actions: ['s3:GetObject', 's3:GetObjectVersion'],
      resources: [`arn:${Aws.PARTITION}:s3:::cdk-hnb659fds-assets-${account}-${region}/*`],
    },
    {
      types: ['AWS::Lambda::EventSourceMapping'],
      actions: [
        'lambda:CreateEventSourceMapping',
        'lambda:DeleteEventSourceMapping',
        'lambda:UpdateEventSourceMapping',
      ],
      resources: ['*'],
      conditions: { ArnLike: { 'lambda:FunctionArn': arn('lambda', `function:${prefix}*`) } },
    },
    {
      types: ['AWS::Lambda::EventSourceMapping'],
      actions: ['lambda:GetEventSourceMapping', 'lambda:ListTags', 'lambda:TagResource', 'lambda:UntagResource'],
      resources: [arn('lambda', 'event-source-mapping:*')],
    },
    {
      types: ['AWS::IAM::Role', 'AWS::IAM::Policy'],
      actions: [
        'iam:CreateRole',
        'iam:DeleteRole',
        'iam:DeleteRolePolicy',
        'iam:GetRole',
        'iam:GetRolePolicy',
        'iam:ListAttachedRolePolicies',
        'iam:ListRolePolicies',
        'iam:PutRolePolicy',
        'iam:TagRole',
        'iam:UntagRole',
        'iam:UpdateAssumeRolePolicy',
        'iam:UpdateRole',
        'iam:UpdateRoleDescription',
      ],
      resources: [roles],
    },
    {
      types: ['AWS::Lambda::Function', 'AWS::Scheduler::Schedule'],
      actions: ['iam:PassRole'],
      resources: [roles],
      conditions: { StringEquals: { 'iam:PassedToService': ['lambda.amazonaws.com', 'scheduler.amazonaws.com'] } },
    },
    {
      types: ['AWS::Logs::LogGroup'],
      actions: [
        'logs:CreateLogGroup',
        'logs:DeleteLogGroup',
        'logs:DeleteRetentionPolicy',
        'logs:DescribeIndexPolicies',
        'logs:GetDataProtectionPolicy',
        'logs:ListTagsForResource',
        'logs:PutRetentionPolicy',
        'logs:TagResource',
        'logs:UntagResource',
      ],
      resources: [arn('logs', `log-group:${prefix}*`)],
    },
    {
      types: ['AWS::Logs::LogGroup', 'AWS::ApiGatewayV2::Stage'],
      // A stage with an access log: https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-logging.html
      actions: [
        'logs:DescribeLogGroups',
        'logs:DescribeResourcePolicies',
        'logs:PutResourcePolicy',
        'logs:CreateLogDelivery',
        'logs:GetLogDelivery',
        'logs:UpdateLogDelivery',
        'logs:DeleteLogDelivery',
        'logs:ListLogDeliveries',
      ],
      resources: ['*'],
    },
    {
      types: [
        'AWS::ApiGatewayV2::Api',
        'AWS::ApiGatewayV2::Integration',
        'AWS::ApiGatewayV2::Route',
        'AWS::ApiGatewayV2::Stage',
        'AWS::ApiGatewayV2::DomainName',
        'AWS::ApiGatewayV2::ApiMapping',
      ],
      actions: [
        'apigateway:DELETE',
        'apigateway:GET',
        'apigateway:PATCH',
        'apigateway:POST',
        'apigateway:PUT',
        'apigateway:TagResource',
        'apigateway:UntagResource',
      ],
      resources: [`${api}/apis*`, `${api}/domainnames*`, `${api}/tags/*`],
    },
    {
      types: ['AWS::Route53::RecordSet'],
      actions: ['route53:ChangeResourceRecordSets', 'route53:GetHostedZone', 'route53:ListResourceRecordSets'],
      resources: [`arn:${Aws.PARTITION}:route53:::hostedzone/*`],
    },
    {
      types: ['AWS::Route53::RecordSet'],
      actions: ['route53:GetChange'],
      resources: [`arn:${Aws.PARTITION}:route53:::change/*`],
    },
    {
      types: ['AWS::SES::ConfigurationSet', 'AWS::SES::ConfigurationSetEventDestination', 'AWS::SES::EmailIdentity'],
      actions: [
        'ses:CreateConfigurationSet',
        'ses:DeleteConfigurationSet',
        'ses:DescribeConfigurationSet',
        'ses:GetConfigurationSet',
        'ses:PutConfigurationSet*',
        'ses:CreateConfigurationSetEventDestination',
        'ses:DeleteConfigurationSetEventDestination',
        'ses:GetConfigurationSetEventDestinations',
        'ses:UpdateConfigurationSetEventDestination',
        'ses:CreateEmailIdentity',
        'ses:DeleteEmailIdentity',
        'ses:GetEmailIdentity',
        'ses:PutEmailIdentity*',
        'ses:ListTagsForResource',
        'ses:TagResource',
        'ses:UntagResource',
      ],
      // CloudFormation names a configuration set without the name of the stack.
      resources: [arn('ses', 'configuration-set/*'), arn('ses', 'identity/*')],
    },
    {
      types: ['AWS::Events::Rule'],
      actions: [
        'events:DeleteRule',
        'events:DescribeRule',
        'events:ListTagsForResource',
        'events:ListTargetsByRule',
        'events:PutRule',
        'events:PutTargets',
        'events:RemoveTargets',
        'events:TagResource',
        'events:UntagResource',
      ],
      resources: [arn('events', `rule/${prefix}*`)],
    },
    {
      types: ['AWS::Scheduler::Schedule'],
      actions: [
        'scheduler:CreateSchedule',
        'scheduler:DeleteSchedule',
        'scheduler:GetSchedule',
        'scheduler:UpdateSchedule',
      ],
      resources: [arn('scheduler', `schedule/default/${prefix}*`)],
    },
    {
      types: ['AWS::ApiGatewayV2::DomainName', 'AWS::EC2::NatGateway'],
      actions: ['iam:CreateServiceLinkedRole'],
      resources: [arn('iam', 'role/aws-service-role/*', { regional: false })],
      conditions: {
        StringEquals: { 'iam:AWSServiceName': ['ops.apigateway.amazonaws.com', 'natgateway.amazonaws.com'] },
      },
    },
  ];
};

/** Alarms, their topic's key, and the dashboard. */
const monitoringPermissions = (target: Target): Permission[] => {
  const { prefix, arn } = namesOf(target);
  return [
    { types: ['AWS::KMS::Key'], actions: ['kms:CreateKey'], resources: ['*'] },
    {
      types: ['AWS::Logs::MetricFilter'],
      actions: ['logs:PutMetricFilter', 'logs:DeleteMetricFilter', 'logs:DescribeMetricFilters'],
      resources: [arn('logs', `log-group:${prefix}*`)],
    },
    {
      types: ['AWS::KMS::Key'],
      actions: [
        'kms:DescribeKey',
        'kms:DisableKey',
        'kms:DisableKeyRotation',
        'kms:EnableKey',
        'kms:EnableKeyRotation',
        'kms:GetKeyPolicy',
        'kms:GetKeyRotationStatus',
        'kms:ListResourceTags',
        'kms:PutKeyPolicy',
        'kms:ScheduleKeyDeletion',
        'kms:TagResource',
        'kms:UntagResource',
        'kms:UpdateKeyDescription',
      ],
      // The ID of a key is random.
      resources: [arn('kms', 'key/*')],
    },
    {
      types: ['AWS::CloudWatch::Alarm', 'AWS::CloudWatch::InsightRule', 'AWS::CloudWatch::Dashboard'],
      actions: [
        'cloudwatch:DeleteAlarms',
        'cloudwatch:PutMetricAlarm',
        'cloudwatch:DeleteInsightRules',
        'cloudwatch:PutInsightRule',
        'cloudwatch:DeleteDashboards',
        'cloudwatch:GetDashboard',
        'cloudwatch:PutDashboard',
        'cloudwatch:ListTagsForResource',
        'cloudwatch:TagResource',
        'cloudwatch:UntagResource',
      ],
      resources: [
        arn('cloudwatch', `alarm:${prefix}*`),
        arn('cloudwatch', `insight-rule/${prefix}*`),
        arn('cloudwatch', `dashboard/${prefix}*`, { regional: false }),
      ],
    },
    {
      types: ['AWS::CloudWatch::Alarm', 'AWS::CloudWatch::InsightRule'],
      actions: ['cloudwatch:DescribeAlarms', 'cloudwatch:DescribeInsightRules'],
      resources: ['*'],
    },
  ];
};

/** The VPC for static egress (setting `egress`). EC2 names resources by random IDs. */
const networkPermissions = (target: Target): Permission[] => [
  {
    types: [
      'AWS::EC2::EIP',
      'AWS::EC2::VPC',
      'AWS::EC2::Subnet',
      'AWS::EC2::RouteTable',
      'AWS::EC2::SubnetRouteTableAssociation',
      'AWS::EC2::Route',
      'AWS::EC2::NatGateway',
      'AWS::EC2::InternetGateway',
      'AWS::EC2::VPCGatewayAttachment',
      'AWS::EC2::VPCEndpoint',
      'AWS::EC2::SecurityGroup',
    ],
    actions: [
      'ec2:AllocateAddress',
      'ec2:AssociateAddress',
      'ec2:DisassociateAddress',
      'ec2:ReleaseAddress',
      'ec2:CreateVpc',
      'ec2:DeleteVpc',
      'ec2:ModifyVpcAttribute',
      'ec2:ModifyVpcTenancy',
      'ec2:CreateSubnet',
      'ec2:DeleteSubnet',
      'ec2:ModifySubnetAttribute',
      'ec2:CreateRouteTable',
      'ec2:DeleteRouteTable',
      'ec2:AssociateRouteTable',
      'ec2:DisassociateRouteTable',
      'ec2:ReplaceRouteTableAssociation',
      'ec2:CreateRoute',
      'ec2:DeleteRoute',
      'ec2:ReplaceRoute',
      'ec2:CreateNatGateway',
      'ec2:DeleteNatGateway',
      'ec2:CreateInternetGateway',
      'ec2:DeleteInternetGateway',
      'ec2:AttachInternetGateway',
      'ec2:DetachInternetGateway',
      'ec2:CreateVpcEndpoint',
      'ec2:DeleteVpcEndpoints',
      'ec2:ModifyVpcEndpoint',
      'ec2:CreateSecurityGroup',
      'ec2:DeleteSecurityGroup',
      'ec2:AuthorizeSecurityGroupEgress',
      'ec2:RevokeSecurityGroupEgress',
      'ec2:UpdateSecurityGroupRuleDescriptionsEgress',
      'ec2:CreateTags',
      'ec2:DeleteTags',
    ],
    resources: [namesOf(target).arn('ec2', '*/*')],
  },
  {
    types: ['AWS::EC2::VPC', 'AWS::EC2::Subnet', 'AWS::Lambda::Function'],
    // No Describe action supports a resource.
    actions: ['ec2:Describe*'],
    resources: ['*'],
  },
];

/** What every deployment needs: the version of the bootstrap stack, a parameter of the template. */
const bootstrapVersion = ({ account, region }: Target): Permission => ({
  types: [],
  actions: ['ssm:GetParameters'],
  resources: [`arn:${Aws.PARTITION}:ssm:${region}:${account}:parameter/cdk-bootstrap/hnb659fds/version`],
});

const toStatement = ({ actions, resources, conditions }: Permission): PolicyStatement =>
  new PolicyStatement({
    effect: Effect.ALLOW,
    actions: [...actions],
    resources: [...resources],
    ...(conditions && { conditions }),
  });

/**
 * Returns the permissions of the execution policies, by policy: IAM limits a policy to 6,144 characters. They are what
 * CloudFormation needs to create, update and delete the resources of the service's stack, from the `handlers` in the
 * public schemas of the resource types, without the features that the stack does not use:
 * https://docs.aws.amazon.com/cloudformation-cli/latest/userguide/resource-type-schema.html
 *
 * Resources are limited to names of this stack where IAM supports it. No permission reads or writes items, messages or
 * log events.
 */
const permissionsByPolicy = (target: Target): Record<string, Permission[]> => ({
  Service: [bootstrapVersion(target), ...servicePermissions(target)],
  Monitoring: monitoringPermissions(target),
  Network: networkPermissions(target),
});

/** The resource types that the execution policies allow only with names that start like the name of the stack. */
export const typesLimitedByName = (target: Target): Set<string> => {
  const isLimited = ({ resources, conditions }: Permission) =>
    JSON.stringify([resources, conditions]).includes(`${namesOf(target).prefix}*`);
  return new Set(
    Object.values(permissionsByPolicy(target)).flatMap((list) => list.filter(isLimited).flatMap(({ types }) => types)),
  );
};

/** The resource types that the execution policies cover. */
export const coveredTypes = (target: Target): Set<string> =>
  new Set(Object.values(permissionsByPolicy(target)).flatMap((list) => list.flatMap(({ types }) => types)));

/** Returns the statements of each execution policy, by the name of the policy. */
export const executionStatements = (target: Target): [policy: string, statements: PolicyStatement[]][] =>
  Object.entries(permissionsByPolicy(target)).map(([policy, list]) => [policy, list.map(toStatement)]);
