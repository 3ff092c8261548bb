import { spawnSync } from 'node:child_process';
import { Annotations, App, type AppProps, type Environment } from 'aws-cdk-lib';
import * as z from 'zod';
import { NotificationsStack } from './notifications-stack.ts';
import { isSetting, parseSettings, type Settings } from './settings.ts';
import { describeIssues, PLACEHOLDER_ACCOUNT, readStage, type Stage, stageOfStack, targetSchema } from './stages.ts';

/** The default name of the stack; the context key `stackName` overrides it. */
export const STACK_NAME = 'MonitoringNotifications';

const deploymentContext = z.looseObject({ stage: z.string().optional(), ...targetSchema.partial().shape });

/**
 * Returns the deployment that a CDK context describes: the settings of its `stage`, and its own, which take precedence.
 * @throws Error with one sentence if the stage or its file is invalid
 */
export const readDeployment = (context: Readonly<Record<string, unknown>>, stagesDirectory?: string) => {
  const { data, error } = deploymentContext.safeParse(context);
  if (error) throw new Error(`Invalid setting: ${describeIssues(error)}`);
  const { stage: stageName, ...overrides } = data;
  const stage = stageName === undefined ? undefined : readStage(stageName, stagesDirectory);
  const { stackName = STACK_NAME, account, region } = { ...stage?.target, ...overrides };
  // Empty if the credentials decide.
  const env = { ...(account !== undefined && { account }), ...(region !== undefined && { region }) };
  const given = Object.entries(overrides).filter(([key]) => isSetting(key) && !Object.hasOwn(targetSchema.shape, key));
  const settings: Readonly<Record<string, unknown>> = { ...stage?.settings, ...Object.fromEntries(given) };
  return { stackName, env, stage, settings };
};

/** Returns the CDK app, with the settings from its context. Synthesis needs neither an AWS account nor a network. */
export const notificationsApp = (
  { commit = UNKNOWN_COMMIT, ...props }: AppProps & { commit?: string } = {},
  stagesDirectory?: string,
): App => {
  // The tree would be a child of the app, whose context could then no longer be set.
  const app = new App({ analyticsReporting: false, treeMetadata: false, ...props });
  const { stackName, env, stage, settings } = readDeployment(app.node.getAllContext(), stagesDirectory);
  const parsed = parse(stackName, settings, env, stage);
  for (const [key, value] of Object.entries(stage?.context ?? {}))
    if (app.node.tryGetContext(key) === undefined) app.node.setContext(key, value);
  const stack = new NotificationsStack(app, stackName, parsed, env, commit);
  if (stage !== undefined && env.account === PLACEHOLDER_ACCOUNT) {
    Annotations.of(stack).addWarningV2(
      'notifications:account',
      `${stage.file} contains the placeholder account ${PLACEHOLDER_ACCOUNT}. Enter your account before you deploy.`,
    );
  }
  const described = stageOfStack({ stackName, ...env }, stagesDirectory);
  if (described !== undefined && described.name !== stage?.name) {
    Annotations.of(stack).addWarningV2(
      'notifications:stage',
      `${described.file} describes the stack ${stackName}, but its settings are not used, so a deployment resets them. Add -c stage=${described.name}, or change stackName.`,
    );
  }
  return app;
};

/** An error contains the file of the stage. */
const parse = (
  stackName: string,
  given: Readonly<Record<string, unknown>>,
  { account, region }: Environment,
  stage?: Stage,
): Settings => {
  try {
    checkStackName(stackName);
    const settings = parseSettings(given, region);
    const { alarmTarget, developmentStage } = settings;
    if (stage !== undefined && alarmTarget === undefined && !developmentStage) {
      throw new Error(
        'Invalid setting: alarmTarget is required in a stage that has alarms: only one with developmentStage has none.',
      );
    }
    // The CDK CLI asks for the account of the credentials.
    const { CDK_DEFAULT_ACCOUNT } = process.env;
    if (alarmTarget?.endsWith('@example.com') && (account ?? CDK_DEFAULT_ACCOUNT) !== PLACEHOLDER_ACCOUNT) {
      throw new Error(`Invalid setting: alarmTarget must be your address or topic, not ${alarmTarget}.`);
    }
    return settings;
  } catch (error) {
    if (stage === undefined || !(error instanceof Error)) throw error;
    throw new Error(`Stage ${stage.name} (${stage.file}): ${error.message}`, { cause: error });
  }
};

/** The name of the Contributor Insights rule, which begins with that of the stack, has at most 128 characters. */
export const MAX_STACK_NAME_LENGTH = 128 - '-FailingTenants'.length;

/** CloudFormation would fail only after creating most resources. @throws Error */
export const checkStackName = (name: string): void => {
  if (/^[A-Za-z][A-Za-z0-9-]*$/.test(name) && name.length <= MAX_STACK_NAME_LENGTH) return;
  throw new Error(
    `Invalid setting: stackName must have at most ${MAX_STACK_NAME_LENGTH} letters, digits and hyphens and start with a letter, not ${JSON.stringify(name)}.`,
  );
};

/** That of an archive without git. */
export const UNKNOWN_COMMIT = 'unknown';

/**
 * Returns the commit of the working tree, which ends with `-dirty` if files differ, or else `GITHUB_SHA`. Only a deployment
 * asks for it, so that the templates of tests depend on no commit.
 */
export const currentCommit = (directory = import.meta.dirname, { GITHUB_SHA } = process.env): string => {
  const args = ['describe', '--always', '--dirty', '--exclude=*', '--abbrev=40'];
  const { status, stdout } = spawnSync('git', args, { cwd: directory, encoding: 'utf8' });
  return (status === 0 && stdout.trim()) || GITHUB_SHA || UNKNOWN_COMMIT;
};
