import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Stack } from 'aws-cdk-lib';
import { Match, Template } from 'aws-cdk-lib/assertions';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { checkStackName, currentCommit } from '../../lib/app.ts';
import { parseSettings } from '../../lib/settings.ts';
import { PLACEHOLDER_ACCOUNT, readStage, STAGES_DIRECTORY, stageNames } from '../../lib/stages.ts';
import { warningsOf, withOutputDirectory } from '../support/stack.ts';

// After `support/stack.ts`, which replaces bundling.
const { notificationsApp, readDeployment } = await import('../../lib/app.ts');

const prod = {
  stackName: 'Alerts',
  account: '111111111111',
  region: 'eu-west-1',
  alarmTarget: 'oncall@example.org',
  testsPerTenantPerDay: 5,
};

let directory: string;
const write = (name: string, content: unknown) =>
  writeFileSync(join(directory, `${name}.json`), typeof content === 'string' ? content : JSON.stringify(content));

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'stages-'));
  write('prod', prod);
  write('dev', { ...prod, stackName: 'Alerts-dev', deletionProtection: false });
});
afterEach(() => rmSync(directory, { recursive: true }));

/**
 * Synthesizes with this context. Returns the stack, its template, and the lookups that synthesis left.
 */
const synthesize = (context: Record<string, unknown>, stages = directory) =>
  withOutputDirectory((outdir) => {
    const app = notificationsApp({ context, outdir, builtinCloudFormationValidation: false }, stages);
    const [stack] = app.node.children.filter((child): child is Stack => child instanceof Stack);
    if (!stack) throw new Error('The app has no stack.');
    const { missing = [] } = app.synth().manifest;
    return { stack, template: Template.fromStack(stack), missing };
  });

const resources = z.record(
  z.string(),
  z.object({ Type: z.string(), Properties: z.record(z.string(), z.unknown()).default({}) }),
);

/** Properties with names that are unique only within another resource of the template, or that name a metric. */
const SCOPED_NAMES = [
  'AWS::IAM::Policy PolicyName',
  'AWS::ApiGatewayV2::Stage StageName',
  'AWS::CloudWatch::Alarm MetricName',
];

/** Returns the physical names that the template sets, each with its property. */
const literalNames = (template: Template): string[] =>
  Object.values(resources.parse(template.toJSON().Resources)).flatMap(({ Type, Properties }) =>
    Object.entries(Properties)
      .filter(([key, value]) => key.endsWith('Name') && typeof value === 'string')
      .filter(([key]) => !SCOPED_NAMES.includes(`${Type} ${key}`))
      .map(([key, value]) => `${Type} ${key} ${value}`),
  );

describe('a stage', () => {
  it('selects the stack, account, region and settings of its file', () => {
    const { stack, template } = synthesize({ stage: 'prod' });
    expect([stack.stackName, stack.account, stack.region]).toEqual(['Alerts', '111111111111', 'eu-west-1']);
    template.hasResourceProperties('AWS::Lambda::Function', {
      Environment: { Variables: { TENANT_LIMITS: Match.stringLikeRegexp('"testsPerTenantPerDay":5,') } },
    });
  });

  it('has its settings overridden by the context', () => {
    const context = { stage: 'prod', testsPerTenantPerDay: '7', stackName: 'Another', logRetentionDays: '7' };
    expect(readDeployment(context, directory)).toMatchObject({
      stackName: 'Another',
      env: { account: '111111111111', region: 'eu-west-1' },
      settings: { testsPerTenantPerDay: '7', logRetentionDays: '7' },
    });
  });

  it('is not required: without one, the credentials select the account and region', () => {
    expect(readDeployment({ logRetentionDays: '7' }, directory)).toEqual({
      stackName: 'MonitoringNotifications',
      env: {},
      stage: undefined,
      settings: { logRetentionDays: '7' },
    });
  });

  it('has the context of the CDK core in its file, unless the context has another', () => {
    const key = '@aws-cdk/core:bootstrapQualifier';
    write('prod', { ...prod, [key]: 'ours', '@aws-cdk/core:permissionsBoundary': { name: 'limit' } });
    const { stack, template } = synthesize({ stage: 'prod' });
    expect(stack.synthesizer.bootstrapQualifier).toBe('ours');
    expect(JSON.stringify(template.findResources('AWS::IAM::Role'))).toContain(':policy/limit');
    expect(synthesize({ stage: 'prod', [key]: 'theirs' }).stack.synthesizer.bootstrapQualifier).toBe('theirs');
  });

  it('can be deleted with its stack only if it is for development', () => {
    expect(synthesize({ stage: 'prod' }).stack.terminationProtection).toBe(true);
    write('dev', { ...prod, stackName: 'Alerts-dev', alarmTarget: undefined, developmentStage: true });
    expect(synthesize({ stage: 'dev' }).stack.terminationProtection).toBe(false);
  });

  it.each([
    ['a context lookup', 'availability-zones:account=1:region=eu-west-1'],
    ['the CLI', 'aws:cdk:enable-path-metadata'],
    ['`cdk cli-telemetry --disable`', 'cli-telemetry'],
  ])('has no settings from context keys of the CDK: %s', (_, key) => {
    expect(readDeployment({ stage: 'prod', [key]: true }, directory)).toEqual(
      readDeployment({ stage: 'prod' }, directory),
    );
  });

  it('is rejected in China by CloudFormation, before it creates anything, if only the credentials select the region', () => {
    const rulesOf = (context: Record<string, unknown>) => synthesize(context).template.toJSON().Rules;
    expect(JSON.stringify(rulesOf({}).SupportedRegion)).toContain(
      '{"Fn::Not":[{"Fn::Contains":[["cn-north-1","cn-northwest-1"],{"Ref":"AWS::Region"}]}]}',
    );
    expect(rulesOf({ stage: 'prod' })).not.toHaveProperty('SupportedRegion');
  });

  it('is synthesized without credentials with every egress: no lookup of availability zones is left to the CLI', () => {
    for (const egress of ['lambda', 'static']) {
      expect(synthesize({ stage: 'prod', egress }).missing).toEqual([]);
    }
  });
});

describe('a stage is rejected with one sentence', () => {
  it.each([
    ['that names all stages', 'prdo', '"prdo" is not a stage; the stages are dev, prod'],
    ['also if its name is a path', '../stages/prod', '"../stages/prod" is not a stage; the stages are dev, prod'],
  ])('if it does not exist, %s', (_, stage, message) => {
    expect(() => readDeployment({ stage }, directory)).toThrow(new Error(message));
  });

  it.each([
    ['without an account', { ...prod, account: undefined }, 'account: is required'],
    ['without a stack name', { ...prod, stackName: undefined }, 'stackName: is required'],
    ['with an account as a number', { ...prod, account: 111_111_111_111 }, 'account: must be text in quotation marks'],
    ['with a short account', { ...prod, account: '1111' }, 'account: must be 12 digits'],
    ['with an invalid region', { ...prod, region: 'Ireland' }, 'region: must be an AWS region, such as eu-west-1'],
    [
      'with a region in China',
      { ...prod, region: 'cn-north-1' },
      'region: must not be in China, where SES has no configuration sets',
    ],
    ['with a nested value', { ...prod, egressAllow: [] }, 'egressAllow: must be text, a number, true or false'],
  ])('that names its file: %s', (_, content, message) => {
    write('prod', content);
    expect(() => readDeployment({ stage: 'prod' }, directory)).toThrow(new Error(`bin/stages/prod.json: ${message}`));
  });

  it('that names its file if it is not JSON', () => {
    write('prod', '{"stackName": ');
    expect(() => readDeployment({ stage: 'prod' }, directory)).toThrow(/^bin\/stages\/prod\.json is not valid JSON: /);
  });

  it.each([
    ['an invalid value', { ...prod, smsCountries: '49' }, 'smsCountries'],
    ['an unknown setting', { ...prod, emailfrom: 'a@example.org' }, 'emailfrom'],
    ['the name of a stage', { ...prod, stage: 'dev' }, '"stage" is not a setting'],
    ['an invalid stack name', { ...prod, stackName: 'a b' }, 'stackName'],
    ['a context key that is not of the CDK core', { ...prod, 'aws:cdk:x': 1 }, '"aws:cdk:x" is not a setting'],
    ['no recipient of its alarms', { ...prod, alarmTarget: undefined }, 'alarmTarget is required'],
    ['the recipient of an example', { ...prod, alarmTarget: 'me@example.com' }, 'alarmTarget must be your address'],
  ])('that names its file and the setting: %s', (_, content, name) => {
    write('prod', content);
    const attempt = () => synthesize({ stage: 'prod' });
    expect(attempt).toThrow(/^Stage prod \(bin\/stages\/prod\.json\): /);
    expect(attempt).toThrow(name);
  });

  it('if another stage has the same stack, because one would replace the other', () => {
    write('copy', prod);
    expect(() => readDeployment({ stage: 'prod' }, directory)).toThrow(
      new Error(
        'bin/stages/prod.json: stackName, account and region are those of bin/stages/copy.json; change stackName',
      ),
    );
    write('copy', { ...prod, region: 'us-east-1' });
    expect(() => readDeployment({ stage: 'prod' }, directory)).not.toThrow();
  });

  it('if its certificate is in another region than that of the context', () => {
    const certificateArn = 'arn:aws:acm:eu-west-1:111111111111:certificate/0a1b2c3d';
    const given = { domainName: 'api.example.org', certificateArn };
    expect(() => synthesize({ ...given, region: 'us-west-2' })).toThrow(
      new Error('Invalid setting: certificateArn must be in the region of the stack.'),
    );
  });

  it('if the region of the context is in China', () => {
    expect(() => readDeployment({ region: 'cn-northwest-1' }, directory)).toThrow(
      new Error('Invalid setting: region: must not be in China, where SES has no configuration sets'),
    );
  });
});

describe('the stages in the repository', () => {
  it.each(stageNames())('are valid and have different stacks: %s', (name) => {
    const { target, settings } = readStage(name);
    expect(() => checkStackName(target.stackName)).not.toThrow();
    expect(() => parseSettings(settings)).not.toThrow();
  });

  it('have only physical names that differ, so that two of them can be in one account and region', () => {
    const namesOf = (stage: string) => {
      const { stack, template } = synthesize({ stage }, STAGES_DIRECTORY);
      expect(template.findOutputs('*', { Export: {} })).toEqual({});
      return [stack.stackName, ...literalNames(template)];
    };
    const names = ['dev', 'prod'].map(namesOf);
    // The stack, the API and, with monitoring, a rule and the dashboard.
    expect(names.map(({ length }) => length)).toEqual([2, 4]);
    expect(new Set(names.flat()).size).toBe(names.flat().length);
  });

  it('warn if another deployment would replace their stack', () => {
    const warning = 'bin/stages/prod.json describes the stack Alerts';
    expect(warningsOf({ stackName: 'Alerts' }, directory).join()).toContain(warning);
    const { account, region } = prod;
    expect(warningsOf({ stage: 'dev', stackName: 'Alerts', account, region }, directory).join()).toContain(warning);
    for (const context of [
      { stage: 'prod' },
      { stage: 'dev' },
      { stackName: 'Other' },
      { stackName: 'Alerts', account: '222222222222' },
      { stackName: 'Alerts', region: 'eu-north-1' },
    ]) {
      expect(warningsOf(context, directory).join()).not.toContain('describes the stack');
    }
    write('prod', { ...prod, account: PLACEHOLDER_ACCOUNT });
    expect(warningsOf({ stackName: 'Alerts' }, directory).join()).not.toContain('describes the stack');
  });

  it('warn about the placeholder account', () => {
    write('prod', { ...prod, account: PLACEHOLDER_ACCOUNT });
    expect(warningsOf({ stage: 'prod' }, directory).join()).toContain(
      'bin/stages/prod.json contains the placeholder account 000000000000',
    );
    expect(warningsOf({ stage: 'dev' }, directory).join()).not.toContain('placeholder account');
  });
});

it('the commit of a deployment is that of GitHub without git, and otherwise unknown', () => {
  expect(currentCommit(tmpdir(), { GITHUB_SHA: 'abc' })).toBe('abc');
  expect(currentCommit(tmpdir(), {})).toBe('unknown');
});
