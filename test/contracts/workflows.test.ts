import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
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
  shell: z.literal('bash').optional(),
  env: z.record(z.string(), z.string()).optional(),
});
const workflow = z.strictObject({
  name: z.string(),
  on: z.record(z.string(), z.unknown()),
  permissions: z.record(z.string(), z.string()),
  concurrency: z.strictObject({ group: z.string(), 'cancel-in-progress': z.union([z.boolean(), z.string()]) }),
  env: z.record(z.string(), z.string()).default({}),
  jobs: z.record(
    z.string(),
    z.strictObject({
      needs: z.string().optional(),
      'runs-on': z.string(),
      'timeout-minutes': z.number(),
      environment: z.string().optional(),
      permissions: z.record(z.string(), z.string()).optional(),
      outputs: z.record(z.string(), z.string()).optional(),
      steps: z.array(step),
    }),
  ),
});

/** Returns an expression of GitHub Actions. */
const expression = (name: string): string => `\${{ ${name} }}`;

const read = (file: string): unknown => parse(readDocument(file));
const files = readdirSync(resolve(root, '.github/workflows')).map((file) => `.github/workflows/${file}`);
const stepsOf = (file: string) => Object.values(workflow.parse(read(file)).jobs).flatMap(({ steps }) => steps);

const { scripts, version } = z
  .object({ scripts: z.record(z.string(), z.string()), version: z.string() })
  .parse(JSON.parse(readDocument('package.json')));

describe.each(files)('the workflow %s', (file) => {
  it('pins every action to a commit, with its version as a comment, which Dependabot updates', () => {
    const pinned = readDocument(file).matchAll(/uses: [\w-]+\/[\w-]+@[\da-f]{40} # v\d+\.\d+\.\d+$/gm);
    expect([...pinned]).toHaveLength(stepsOf(file).filter(({ uses }) => uses !== undefined).length);
  });

  it('runs only files and scripts that exist', () => {
    const commands = stepsOf(file).flatMap(({ run }) => run?.trim().split('\n') ?? []);
    expect(commands.length).toBeGreaterThan(0);
    for (const command of commands) {
      const [program = '', argument = '', script = ''] = command.split(' ');
      if (program.startsWith('.')) expect(statSync(resolve(root, program)).mode & 0o111).not.toBe(0);
      else if (program === 'npm' && argument === 'run') expect(Object.keys(scripts)).toContain(script);
      else if (program === 'npx') expect(existsSync(resolve(root, 'node_modules/.bin', argument))).toBe(true);
      else expect(['npm ci', 'jq --raw-output', "echo '```diff'", "trap 'echo"]).toContain(`${program} ${argument}`);
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
    for (const { steps } of Object.values(workflow.parse(read(file)).jobs)) {
      const setup = steps.find(({ uses }) => uses?.startsWith('actions/setup-node@'));
      expect(setup?.with['node-version-file']).toBe('.nvmrc');
    }
  });
});

it('the CI workflow runs what .ci/run runs, with read access only', () => {
  const ci = '.github/workflows/ci.yml';
  expect(stepsOf(ci).flatMap(({ run }) => run ?? [])).toEqual(['.ci/run']);
  expect(workflow.parse(read(ci)).permissions).toEqual({ contents: 'read' });
});

describe('the deployment workflow', () => {
  const deploy = '.github/workflows/deploy.yml';
  const { on, concurrency, permissions, env, jobs } = workflow.parse(read(deploy));
  const { diff, deploy: deployment } = jobs;
  const commandsOf = (job: typeof diff) => (job?.steps ?? []).flatMap(({ run }) => run?.trim() ?? []);
  const usesOf = (job: typeof diff, action: string) =>
    job?.steps.find(({ uses }) => uses?.startsWith(`${action}@`))?.with;

  it('offers exactly the stages of the repository', () => {
    const inputs = z.object({
      workflow_dispatch: z.object({ inputs: z.object({ stage: z.object({ options: z.array(z.string()) }) }) }),
    });
    expect(inputs.parse(on).workflow_dispatch.inputs.stage.options.toSorted()).toEqual(stageNames());
  });

  it('shows the changes without waiting for approval, and without a change set, which would need a role that can write', () => {
    expect(Object.keys(jobs)).toEqual(['diff', 'deploy']);
    expect([diff?.environment, diff?.needs]).toEqual([`${expression('inputs.stage')}-diff`, undefined]);
    const show = diff?.steps.find(({ run }) => run?.includes('cdk diff'));
    expect(show?.run).toContain(
      'npx cdk diff -c stage="$STAGE" --no-change-set --no-color 2>&1 | tee -a "$GITHUB_STEP_SUMMARY"',
    );
    // Without it, the step succeeds if only `tee` does.
    expect(show?.shell).toBe('bash');
    expect(commandsOf(diff).filter((command) => command.includes('cdk deploy'))).toEqual([]);
  });

  it('ends the block of the changes in the summary although the diff fails', () => {
    const show = diff?.steps.find(({ run }) => run?.includes('cdk diff'))?.run ?? '';
    const summary = join(mkdtempSync(join(tmpdir(), 'summary-')), 'summary.md');
    const failingDiff = `npx() { echo '+ a'; return 1; }\n${show}`;
    const { status } = spawnSync('bash', ['-eo', 'pipefail', '-c', failingDiff], {
      env: { ...process.env, GITHUB_STEP_SUMMARY: summary },
    });
    expect([status, readFileSync(summary, 'utf8')]).toEqual([1, '```diff\n+ a\n```\n']);
  });

  it('deploys and verifies in the environment of the stage, whose rules require the approval, after the diff', () => {
    expect(deployment).toMatchObject({ environment: expression('inputs.stage'), needs: 'diff' });
    expect(commandsOf(deployment)).toEqual([
      'npm ci',
      'npx cdk deploy -c stage="$STAGE" --require-approval never',
      'npm run ops -- verify --stack "$STACK"',
    ]);
    expect(env).toEqual({ STAGE: expression('inputs.stage') });
  });

  it('deploys the commit whose changes it showed, one run at a time, and never cancels a deployment', () => {
    for (const job of [diff, deployment]) expect(usesOf(job, 'actions/checkout')?.ref).toBe(expression('github.sha'));
    expect(concurrency).toEqual({ group: `deploy-${expression('inputs.stage')}`, 'cancel-in-progress': false });
  });

  it('assumes one role to read and one to deploy, in the account of the stage, with tokens of GitHub and no secret', () => {
    const credentialsOf = (job: typeof diff) => usesOf(job, 'aws-actions/configure-aws-credentials');
    expect([credentialsOf(diff), credentialsOf(deployment)]).toEqual([
      {
        'role-to-assume': expression('vars.DIFF_ROLE'),
        'aws-region': expression('steps.target.outputs.region'),
        'allowed-account-ids': expression('steps.target.outputs.account'),
      },
      {
        'role-to-assume': expression('vars.DEPLOY_ROLE'),
        'aws-region': expression('needs.diff.outputs.region'),
        'allowed-account-ids': expression('needs.diff.outputs.account'),
      },
    ]);
    expect(permissions).toEqual({});
    for (const job of [diff, deployment]) expect(job?.permissions).toEqual({ contents: 'read', 'id-token': 'write' });
    expect(readDocument(deploy)).not.toContain('secrets.');
  });

  it('passes stack, account and region from the file of the stage to the deployment', () => {
    const target = diff?.steps.find(({ id }) => id === 'target');
    expect(target?.run).toBe(
      `jq --raw-output '{stackName, account, region} | to_entries[] | "\\(.key)=\\(.value)"' "bin/stages/$STAGE.json" >> "$GITHUB_OUTPUT"`,
    );
    expect(diff?.outputs).toEqual({
      account: expression('steps.target.outputs.account'),
      region: expression('steps.target.outputs.region'),
      stack: expression('steps.target.outputs.stackName'),
    });
    const verify = deployment?.steps.find(({ run }) => run?.includes('verify'));
    expect(verify?.env).toEqual({ STACK: expression('needs.diff.outputs.stack') });
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
