import { Aws } from 'aws-cdk-lib';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { NETWORK_INTERFACE_ACTIONS } from './network.ts';
import { allow, deny } from './resource-access.ts';
import type { Target } from './stages.ts';

/**
 * CloudFormation starts the names of resources with the name of the stack, and shortens it where names are limited to
 * 64 characters, such as those of roles. It keeps at least this many characters.
 */
const NAME_PREFIX_LENGTH = 20;

/** How the names of the deployment roles and their policies start, which no deployment can change. */
const ACCESS_PREFIX = 'GitHubDeploy-';

/** The name of the role that the workflow of a stage assumes; `.github/workflows/deploy.yml` repeats it. */
export const deployRoleName = (stage: string): string => `${ACCESS_PREFIX}MonitoringNotifications-${stage}`;

/** The name of the permissions boundary of all roles in the stack of a stage. */
export const boundaryName = (stage: string): string => `${deployRoleName(stage)}-boundary`;

/** The name of the policy that limits what CloudFormation can change when it deploys a stage. */
export const executionPolicyName = (stage: string): string => `${deployRoleName(stage)}-execution`;

/** Returns functions for the ARNs of a target: of the resources named after its stack, and of any. */
const arnsOf = ({ stackName, account, region }: Target) => {
  const regional = (service: string, resource: string) =>
    `arn:${Aws.PARTITION}:${service}:${region}:${account}:${resource}`;
  const global = (service: string, resource: string) => `arn:${Aws.PARTITION}:${service}::${account}:${resource}`;
  const ofAnyAccount = (service: string, resource: string) => `arn:${Aws.PARTITION}:${service}:::${resource}`;
  return { named: `${stackName.slice(0, NAME_PREFIX_LENGTH)}*`, regional, global, ofAnyAccount };
};

/**
 * Returns what CloudFormation can do when it deploys the stack: everything with resources that are named after the
 * stack; with those that AWS names otherwise, what their types need. It can create and change roles only with the
 * permissions boundary, and can change neither the boundary nor the roles and policies of deployments:
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/access_policies_boundaries.html#access_policies_boundaries-delegate
 */
export const executionStatements = (target: Target, boundaryArn: string): PolicyStatement[] => {
  const { account, region } = target;
  const { named, regional, global, ofAnyAccount } = arnsOf(target);
  const api = `arn:${Aws.PARTITION}:apigateway:${region}::`;
  return [
    ...roleStatements(target, boundaryArn),
    allow(
      ['cloudwatch:*', 'dynamodb:*', 'lambda:*', 'logs:*', 'scheduler:*', 'sns:*', 'sqs:*'],
      [
        ...['alarm:', 'insight-rule/'].map((type) => regional('cloudwatch', type + named)),
        global('cloudwatch', `dashboard/${named}`),
        regional('dynamodb', `table/${named}`),
        regional('lambda', `function:${named}`),
        regional('logs', `log-group:${named}`),
        regional('scheduler', `schedule/default/${named}`),
        regional('sns', named),
        regional('sqs', named),
      ],
    ),
    allow(['lambda:*EventSourceMapping'], ['*'], {
      ArnLike: { 'lambda:FunctionArn': regional('lambda', `function:${named}`) },
    }),
    allow(
      ['lambda:GetEventSourceMapping', 'lambda:ListTags', 'lambda:TagResource', 'lambda:UntagResource'],
      [regional('lambda', 'event-source-mapping:*')],
    ),
    // These actions support no resource, or none with the name of the stack. A stage of an API with an access log needs
    // those on log deliveries: https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-logging.html
    allow(
      [
        'cloudwatch:Describe*',
        'ec2:Describe*',
        'kms:CreateKey',
        'logs:Describe*',
        'logs:*LogDeliver*',
        'logs:PutResourcePolicy',
        // Of version 1 of the API: the handlers of event destinations call it.
        'ses:DescribeConfigurationSet',
        'sns:*SubscriptionAttributes',
        'sns:Unsubscribe',
      ],
      ['*'],
    ),
    allow(['apigateway:*'], [`${api}/apis*`, `${api}/domainnames*`, `${api}/tags/*`]),
    // The IDs of keys are random.
    allow(
      [
        ...['Describe', 'Disable', 'Enable', 'Get', 'List', 'Update'].map((verb) => `kms:${verb}*`),
        ...['PutKeyPolicy', 'ScheduleKeyDeletion', 'TagResource', 'UntagResource'].map((action) => `kms:${action}`),
      ],
      [regional('kms', 'key/*')],
    ),
    allow(
      ['ses:*ConfigurationSet*', 'ses:*EmailIdentity', 'ses:PutEmailIdentity*', 'ses:*Resource'],
      [regional('ses', 'configuration-set/*'), regional('ses', 'identity/*')],
    ),
    allow(
      ['route53:ChangeResourceRecordSets', 'route53:Get*', 'route53:ListResourceRecordSets'],
      [ofAnyAccount('route53', 'hostedzone/*'), ofAnyAccount('route53', 'change/*')],
    ),
    // The VPC of the setting `egress`.
    allow(
      ['Address', 'InternetGateway', 'NatGateway', 'Route', 'SecurityGroup', 'Subnet', 'Tags', 'Vpc'].map(
        (type) => `ec2:*${type}*`,
      ),
      [regional('ec2', '*/*')],
    ),
    allow(['s3:GetObject*'], [ofAnyAccount('s3', `cdk-hnb659fds-assets-${account}-${region}/*`)]),
    allow(['ssm:GetParameters'], [regional('ssm', 'parameter/cdk-bootstrap/hnb659fds/version')]),
  ];
};

/** The actions that change what a role can do. For them, IAM compares the boundary that the role has or gets. */
const ROLE_CHANGES = [
  'CreateRole',
  'AttachRolePolicy',
  'DetachRolePolicy',
  'PutRolePolicy',
  'DeleteRolePolicy',
  'PutRolePermissionsBoundary',
].map((action) => `iam:${action}`);

/**
 * The denials also hold if the bootstrap role has the policies of other applications, which can allow more. With those of
 * other stages, each stage allows changes of roles with its own boundary, and none denies the boundaries of the others:
 * the names of their roles can start alike.
 */
const roleStatements = (target: Target, boundaryArn: string): PolicyStatement[] => {
  const { named, global } = arnsOf(target);
  const roles = [global('iam', `role/${named}`)];
  const boundaries = global('iam', `policy/${boundaryName('*')}`);
  return [
    allow(ROLE_CHANGES, roles, { StringEquals: { 'iam:PermissionsBoundary': boundaryArn } }),
    allow(['iam:DeleteRole', 'iam:Get*', 'iam:List*', 'iam:TagRole', 'iam:UntagRole', 'iam:Update*'], roles),
    allow(['iam:PassRole'], roles, {
      StringEquals: { 'iam:PassedToService': ['lambda.amazonaws.com', 'scheduler.amazonaws.com'] },
    }),
    allow(['iam:CreateServiceLinkedRole'], [global('iam', 'role/aws-service-role/*')], {
      StringEquals: { 'iam:AWSServiceName': ['ops.apigateway.amazonaws.com', 'natgateway.amazonaws.com'] },
    }),
    deny(ROLE_CHANGES, roles, { ArnNotLike: { 'iam:PermissionsBoundary': boundaries } }),
    deny(['iam:DeleteRolePermissionsBoundary'], roles),
    deny(
      ['iam:*'],
      [global('iam', 'role/cdk-*'), ...['role', 'policy'].map((type) => global('iam', `${type}/${ACCESS_PREFIX}*`))],
    ),
  ];
};

/**
 * Returns what the roles of the stack can do at most, whatever their own policies allow.
 *
 * @param existingTables the names of the tables of the setting `existingTables`
 */
export const boundaryStatements = (target: Target, existingTables: readonly string[]): PolicyStatement[] => {
  const { named, regional } = arnsOf(target);
  return [
    allow(
      ['dynamodb:*', 'lambda:InvokeFunction', 'logs:*', 'sns:Publish', 'sqs:*'],
      [
        ...[named, ...existingTables].map((table) => regional('dynamodb', `table/${table}`)),
        regional('lambda', `function:${named}`),
        regional('logs', `log-group:${named}`),
        regional('sns', named),
        regional('sqs', named),
      ],
    ),
    allow(['ses:SendRawEmail'], [regional('ses', 'identity/*'), regional('ses', 'configuration-set/*')]),
    // Phone numbers have no ARN.
    new PolicyStatement({ actions: ['sns:Publish'], notResources: [`arn:${Aws.PARTITION}:sns:*:*:*`] }),
    // The operators' topic is encrypted with the key of SNS.
    allow(['kms:Decrypt', 'kms:GenerateDataKey*'], [regional('kms', 'key/*')], {
      StringEquals: { 'kms:ViaService': `sns.${target.region}.amazonaws.com` },
    }),
    // The network interfaces of functions in a VPC.
    allow(NETWORK_INTERFACE_ACTIONS, ['*']),
  ];
};
