import { existsSync, readdirSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import * as z from 'zod';
import { stageNames } from '../../lib/stages.ts';
import { readDocument, root } from '../support/documents.ts';

const step = z.strictObject({
  name: z.string().optional(),
  id: z.string().optional(),
  uses: z.string().optional(),
  with: z.record(z.string(), z.unknown()).default({}),
  run: z.string().optional(),
  env: z.record(z.string(), z.string()).optional(),
});
const workflow = z.strictObject({
  name: z.string(),
  on: z.record(z.string(), z.unknown()),
  permissions: z.record(z.string(), z.string()),
  concurrency: z.strictObject({ group: z.string(), 'cancel-in-progress': z.union([z.boolean(), z.string()]) }),
  jobs: z.record(
    z.string(),
    z.strictObject({
      'runs-on': z.string(),
      'timeout-minutes': z.number(),
      environment: z.string().optional(),
      permissions: z.record(z.string(), z.string()).optional(),
      env: z.record(z.string(), z.string()).default({}),
      steps: z.array(step),
    }),
  ),
});

/** Returns an expression of GitHub Actions. */
const expression = (name: string): string => `\${{ ${name} }}`;

const read = (file: string): unknown => parse(readDocument(file));
const files = readdirSync(resolve(root, '.github/workflows')).map((file) => `.github/workflows/${file}`);
const jobsOf = (file: string) => Object.values(workflow.parse(read(file)).jobs);
const stepsOf = (file: string) => jobsOf(file).flatMap(({ steps }) => steps);

const { scripts, version } = z
  .object({ scripts: z.record(z.string(), z.string()), version: z.string() })
  .parse(JSON.parse(readDocument('package.json')));

describe.each(files)('the workflow %s', (file) => {
  it('pins every action to a commit, with its version as a comment, which Dependabot updates', () => {
    const pinned = readDocument(file).matchAll(/uses: [\w-]+\/[\w-]+@[\da-f]{40} # v\d+\.\d+\.\d+$/gm);
    expect([...pinned]).toHaveLength(stepsOf(file).filter(({ uses }) => uses !== undefined).length);
  });

  it('runs only files and scripts that exist', () => {
    const commands = stepsOf(file).flatMap(({ run }) => run?.split('\n') ?? []);
    expect(commands.length).toBeGreaterThan(0);
    for (const command of commands) {
      const [program = '', argument = '', script = ''] = command.split(' ');
      if (program.startsWith('.')) expect(statSync(resolve(root, program)).mode & 0o111).not.toBe(0);
      else if (program === 'npm' && argument === 'run') expect(Object.keys(scripts)).toContain(script);
      else if (program === 'npx') expect(existsSync(resolve(root, 'node_modules/.bin', argument))).toBe(true);
      else expect(['npm ci', 'jq --raw-output']).toContain(`${program} ${argument}`);
    }
  });

  it('passes no expression into a shell, so that inputs cannot inject commands', () => {
    for (const { run = '' } of stepsOf(file)) expect(run).not.toContain('${{');
  });

  it('has no write access to the repository', () => {
    const { permissions, jobs } = workflow.parse(read(file));
    const granted = [permissions, ...Object.values(jobs).map((job) => job.permissions ?? {})].flatMap(Object.entries);
    expect(granted.filter(([scope, access]) => access !== 'read' && scope !== 'id-token')).toEqual([]);
  });

  it('uses the Node.js version of .nvmrc', () => {
    const setups = stepsOf(file).filter(({ uses }) => uses?.startsWith('actions/setup-node@'));
    expect(setups.map((setup) => setup.with['node-version-file'])).toEqual(['.nvmrc']);
  });
});

describe('the CI workflow', () => {
  it('runs what .ci/run runs, with read access only', () => {
    const ci = '.github/workflows/ci.yml';
    expect(stepsOf(ci).flatMap(({ run }) => run ?? [])).toEqual(['.ci/run']);
    expect(workflow.parse(read(ci)).permissions).toEqual({ contents: 'read' });
  });
});

describe('the deployment workflow', () => {
  const deploy = '.github/workflows/deploy.yml';
  const [job] = jobsOf(deploy);

  it('offers exactly the stages of the repository', () => {
    const inputs = z.object({
      workflow_dispatch: z.object({ inputs: z.object({ stage: z.object({ options: z.array(z.string()) }) }) }),
    });
    const { workflow_dispatch: dispatch } = inputs.parse(workflow.parse(read(deploy)).on);
    expect(dispatch.inputs.stage.options.toSorted()).toEqual(stageNames());
  });

  it('deploys in the environment of the stage, one run at a time, and never cancels a deployment', () => {
    expect(job?.environment).toBe(expression('inputs.stage'));
    expect(workflow.parse(read(deploy)).concurrency).toEqual({
      group: `deploy-${expression('inputs.stage')}`,
      'cancel-in-progress': false,
    });
  });

  it('assumes the role of the stage with a token of GitHub, and uses no secret', async () => {
    const { deployRoleName } = await import('../../lib/execution-permissions.ts');
    const credentials = job?.steps.find(({ uses }) => uses?.startsWith('aws-actions/configure-aws-credentials@'));
    expect(job?.permissions).toEqual({ contents: 'read', 'id-token': 'write' });
    expect(credentials?.with['role-to-assume']).toBe(
      `arn:${expression('steps.target.outputs.partition')}:iam::${expression('steps.target.outputs.account')}:role/${deployRoleName(expression('inputs.stage'))}`,
    );
    expect(readDocument(deploy)).not.toContain('secrets.');
  });

  it('reads the account and region from the file of the stage, and derives the partition, which GovCloud has of its own', () => {
    const target = job?.steps.find(({ id }) => id === 'target');
    expect(target?.run).toContain('"bin/stages/$STAGE.json"');
    for (const name of ['account', 'region']) expect(target?.run).toContain(`"${name}=" + .${name}`);
    expect(target?.run).toContain(
      '"partition=" + (if .region | startswith("us-gov-") then "aws-us-gov" else "aws" end)',
    );
    expect(readDocument(deploy)).not.toContain('arn:aws:');
    expect(job?.env).toEqual({ STAGE: expression('inputs.stage') });
  });
});

describe('the repository', () => {
  it('has the version of its newest entry in CHANGELOG.md', () => {
    const entries = [...readDocument('CHANGELOG.md').matchAll(/^## \[(\d+\.\d+\.\d+)\] - (\d{4}-\d\d-\d\d)$/gm)];
    expect(entries.map(([, entry]) => entry)[0]).toBe(version);
    const dates = entries.map(([, , date]) => date);
    expect(dates).toEqual(dates.toSorted().toReversed());
  });

  it('names the same major version of Node.js in .nvmrc, package.json and the functions', () => {
    const { devDependencies } = z
      .object({ devDependencies: z.object({ node: z.string() }) })
      .parse(JSON.parse(readDocument('package.json')));
    const major = readDocument('.nvmrc').trim();
    expect(devDependencies.node.split('.')[0]).toBe(major);
    expect(readDocument('lib/service-function.ts')).toContain(`Runtime.NODEJS_${major}_X`);
  });
});
