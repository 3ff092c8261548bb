import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { App } from 'aws-cdk-lib';
import { Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { AwsSolutionsChecks } from 'cdk-nag';
import { afterAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { deploymentAccessApp, deployRoleName } from '../../lib/deployment-access.ts';
import { coveredTypes, executionStatements, typesLimitedByName } from '../../lib/execution-permissions.ts';
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

/** Returns a directory of stage files in which the stage `prod` has this target. */
const stagesWith = (prod: Target): string => {
  const directory = mkdtempSync(join(tmpdir(), 'stages-'));
  directories.push(directory);
  writeFileSync(join(directory, 'prod.json'), JSON.stringify(prod));
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

/**
 * Types whose generated names start with the name of the stack:
 * https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-properties-name.html
 */
const namedAfterStack = [
  'AWS::CloudWatch::Alarm',
  'AWS::DynamoDB::Table',
  'AWS::Events::Rule',
  'AWS::IAM::Role',
  'AWS::Lambda::Function',
  'AWS::Logs::LogGroup',
  'AWS::SNS::Topic',
  'AWS::SQS::Queue',
  'AWS::Scheduler::Schedule',
];

/** Types without a name of their own: permissions for them are permissions for another resource of the stack. */
const partsOfOthers = [
  'AWS::IAM::Policy',
  'AWS::Lambda::EventSourceMapping',
  'AWS::Lambda::Permission',
  'AWS::Logs::MetricFilter',
  'AWS::SNS::Subscription',
  'AWS::SNS::TopicPolicy',
  'AWS::SQS::QueuePolicy',
];

/** The properties with the names of all other types: CloudFormation names a dashboard by its logical ID. */
const nameProperties = new Map([
  ['AWS::CloudWatch::Dashboard', 'DashboardName'],
  ['AWS::CloudWatch::InsightRule', 'RuleName'],
]);

describe('the deployment role', () => {
  it('can be assumed only by workflows of the repository in the environment of the stage', () => {
    template.resourceCountIs('AWS::IAM::Role', 1);
    template.hasResourceProperties('AWS::IAM::Role', {
      RoleName: 'GitHubDeploy-MonitoringNotifications-prod',
      AssumeRolePolicyDocument: {
        Statement: [
          {
            Effect: 'Allow',
            Action: 'sts:AssumeRoleWithWebIdentity',
            Principal: { Federated: { Ref: Object.keys(template.findResources('AWS::IAM::OIDCProvider'))[0] } },
            Condition: {
              StringEquals: {
                'token.actions.githubusercontent.com:aud': 'sts.amazonaws.com',
                'token.actions.githubusercontent.com:sub': `repo:${repository}:environment:prod`,
              },
            },
          },
        ],
      },
    });
  });

  it('trusts one subject without a wildcard, with the IDs of owner and repository if GitHub puts them into it', () => {
    for (const [given, subject] of [
      [repository, 'repo:acme/monitoring-notifications:environment:prod'],
      [
        'acme@123456/monitoring-notifications@456789',
        'repo:acme@123456/monitoring-notifications@456789:environment:prod',
      ],
    ]) {
      const { template } = accessOf({ stage: 'prod', repository: given });
      const [role] = propertiesOf(template, 'AWS::IAM::Role', trustSchema).values();
      expect(role?.AssumeRolePolicyDocument.Statement.map(({ Condition }) => Condition)).toEqual([
        {
          StringEquals: {
            'token.actions.githubusercontent.com:aud': 'sts.amazonaws.com',
            'token.actions.githubusercontent.com:sub': subject,
          },
        },
      ]);
    }
  });

  it('can only assume the bootstrap roles of its account and region', () => {
    const statements = [...propertiesOf(template, 'AWS::IAM::Policy', policySchema).values()].flatMap(
      ({ PolicyDocument }) => PolicyDocument.Statement,
    );
    expect(stack.resolve(statements)).toEqual([
      {
        Effect: 'Allow',
        Action: 'sts:AssumeRole',
        Resource: ['deploy-role', 'file-publishing-role', 'lookup-role'].map((role) => ({
          'Fn::Join': [
            '',
            [
              'arn:',
              { Ref: 'AWS::Partition' },
              `:iam::${target.account}:role/cdk-hnb659fds-${role}-${target.account}-${target.region}`,
            ],
          ],
        })),
      },
    ]);
  });

  it('has a name that its own stage cannot change: the execution policies exclude it', () => {
    const patterns = JSON.stringify(
      executionStatements(target).flatMap(([, statements]) =>
        statements.filter(({ actions }) => actions.includes('iam:PutRolePolicy')).flatMap(({ resources }) => resources),
      ),
    );
    expect(patterns).toContain('role/MonitoringNotificati*');
    for (const stage of stageNames()) {
      expect(deployRoleName(stage).startsWith(readStage(stage).target.stackName.slice(0, 20))).toBe(false);
    }
  });

  it('uses the existing OIDC provider of the account with oidcProvider=existing', () => {
    const { template } = accessOf({ stage: 'dev', repository, oidcProvider: 'existing' });
    template.resourceCountIs('AWS::IAM::OIDCProvider', 0);
    expect(JSON.stringify(template.findResources('AWS::IAM::Role'))).toContain(
      ':iam::000000000000:oidc-provider/token.actions.githubusercontent.com',
    );
  });
});

const trustSchema = z.object({
  AssumeRolePolicyDocument: z.object({ Statement: z.array(z.object({ Condition: z.unknown() })) }),
});
const policySchema = z.object({ PolicyDocument: z.object({ Statement: z.array(z.unknown()) }) });

/** Returns the JSON of a policy document as IAM receives it, in the standard partition. */
const deployedJson = (document: unknown): string =>
  JSON.stringify(document, (_, value: unknown) => {
    const join = z.object({ 'Fn::Join': z.tuple([z.literal(''), z.array(z.unknown())]) }).safeParse(value);
    return join.success
      ? join.data['Fn::Join'][1].map((part) => (typeof part === 'string' ? part : 'aws')).join('')
      : value;
  });

describe('the execution policies', () => {
  it.each(settingsCombinations)('cover every resource type of the stack: with %s', (_, settings) => {
    const covered = coveredTypes(target);
    expect(typesOf(settings).filter((type) => !covered.has(type))).toEqual([]);
  });

  it('cover no resource type that the stack cannot have', () => {
    const used = new Set(typesOf({ ...allSettings, alarmTarget: 'oncall@example.org' }));
    expect([...coveredTypes(target)].filter((type) => !used.has(type))).toEqual([]);
  });

  it.each(settingsCombinations)('allow the name of every resource: with %s', (_, settings) => {
    const limited = typesLimitedByName(target);
    const nameOf = (type: string, properties: Record<string, unknown>): string =>
      deployedJson(properties[nameProperties.get(type) ?? ''] ?? '');
    const unnamed = resourcesOf(settings)
      .filter(([, { Type }]) => limited.has(Type) && ![...namedAfterStack, ...partsOfOthers].includes(Type))
      .filter(([, { Type, Properties }]) => !/^"MonitoringNotifications-/.test(nameOf(Type, Properties)));
    expect(unnamed.map(([id]) => id)).toEqual([]);
  });

  it('stay within the 6,144 characters of a managed policy', () => {
    const documents = [...propertiesOf(template, 'AWS::IAM::ManagedPolicy', policySchema).values()];
    expect(documents).toHaveLength(3);
    for (const { PolicyDocument } of documents) expect(deployedJson(PolicyDocument).length).toBeLessThan(6_144);
  });

  it('allow no access to data: no items, messages, log events or secrets', () => {
    const actions = executionStatements(target).flatMap(([, statements]) => statements.flatMap((each) => each.actions));
    const forbidden =
      /^\*|:\*$|Item|Query|Scan|(Send|Receive|Delete)Message|Publish$|Invoke|LogEvents|(en|de)crypt$|GenerateDataKey|SendEmail/i;
    expect(actions.filter((action) => forbidden.test(action))).toEqual([]);
    expect(actions.length).toBeGreaterThan(100);
  });

  it('allow changes to roles only by the name of the stack, and pass them only to Lambda and EventBridge Scheduler', () => {
    const iam = executionStatements(target)
      .flatMap(([, statements]) => statements.map((statement) => stack.resolve(statement.toStatementJson())))
      .map((statement) => ({ json: deployedJson(statement), statement }))
      .filter(({ json }) => json.includes('"iam:'));
    expect(iam).toHaveLength(3);
    for (const { json } of iam) expect(json).toMatch(/role\/(MonitoringNotificati\*|aws-service-role\/\*)"/);
    expect(iam.find(({ json }) => json.includes('iam:PassRole'))?.statement).toMatchObject({
      Condition: { StringEquals: { 'iam:PassedToService': ['lambda.amazonaws.com', 'scheduler.amazonaws.com'] } },
    });
  });

  it('are arguments of the bootstrap command in the outputs', () => {
    const command = JSON.stringify(template.findOutputs('BootstrapCommand'));
    expect(command).toContain('npx cdk bootstrap aws://000000000000/us-east-1 --cloudformation-execution-policies');
    for (const id of Object.keys(template.findResources('AWS::IAM::ManagedPolicy'))) expect(command).toContain(id);
  });
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

  it('has a name within the limit of 128 characters for every stack name of a stage', () => {
    const access = (length: number) =>
      accessOf({ stage: 'prod', repository }, stagesWith({ ...target, stackName: 'x'.repeat(length) }));
    expect(access(MAX_STACK_NAME_LENGTH).stack.stackName).toHaveLength(128);
    expect(() => access(MAX_STACK_NAME_LENGTH + 1)).toThrow('Invalid setting: stackName must have at most 110 letters');
  });

  it.each([
    [{}, '-c stage is required. -c repository is required'],
    [{ stage: 'prod' }, '-c repository is required'],
    [{ stage: 'prod', repository, oidcProvider: 'x' }, '-c oidcProvider must be create or existing'],
    [{ stage: 'prdo', repository }, '"prdo" is not a stage; the stages are dev, prod, stage'],
  ])('is rejected with one sentence if its context is invalid: %j', (context, message) => {
    expect(() => accessOf(context)).toThrow(new Error(message));
  });

  it.each(['acme', 'acme/*', 'acme@1/alerts', 'acme/alerts@1', 'acme@1/alerts@x', 'acme@/alerts@', 'repo:acme/alerts'])(
    'is rejected if its repository has another form: %s',
    (given) => {
      expect(() => accessOf({ stage: 'prod', repository: given })).toThrow(
        new Error('-c repository must have the form owner/name, or owner@ID/name@ID with the numeric IDs of both'),
      );
    },
  );
});
