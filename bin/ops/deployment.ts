import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { notificationTypeIds } from '../../shared/contracts/notification-types.ts';
import { errorSummary, OperationError, UsageError } from './errors.ts';
import { type AnnouncedStack, runningStacks } from './local-stacks.ts';

/** The default stack name. Repeated from `lib/app.ts`, because importing that file takes a second. */
export const DEFAULT_STACK = 'MonitoringNotifications';

/**
 * The queues with their own dead-letter queue, to which the service sends: alarm events, and one per notification type.
 */
export const queueNames = ['alarm-events', ...notificationTypeIds] as const;

/** The name of a queue with its own dead-letter queue. */
export type QueueName = (typeof queueNames)[number];

/** The queue to which SQS moves messages after too many receives. */
export const CRASHED = 'crashed';

/** The queues without their own dead-letter queue. */
export const otherQueueNames = ['email-events', CRASHED] as const;

/** The name of a queue without its own dead-letter queue. */
export type OtherQueueName = (typeof otherQueueNames)[number];

const parsedJson = z.string().transform((text, context): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    context.addIssue('must be JSON');
    return z.NEVER;
  }
});

const outputs = z.object({
  AlarmEventsQueueArn: z.string(),
  NotificationsTable: z.string(),
  AccountsTable: z.string(),
  TokensTable: z.string(),
  DeliveriesTable: z.string(),
  QueueUrls: parsedJson.pipe(
    z.intersection(
      // Alarm events have no retry queue.
      z.looseRecord(
        z.enum(queueNames),
        z.object({ queue: z.string(), deadLetters: z.string(), retries: z.optional(z.string()) }),
      ),
      z.looseRecord(z.enum(otherQueueNames), z.object({ queue: z.string() })),
    ),
  ),
});

/** The outputs of a stack. */
export type Outputs = z.infer<typeof outputs>;

/** The names of the outputs that the command line reads. */
export const outputNames = Object.keys(outputs.shape);

/** Client options of the AWS SDK. */
export type AwsOptions = {
  region: string;
  endpoint?: string;
  credentials?: { accessKeyId: string; secretAccessKey: string };
};

/** The stack that a command operates. `stackName` is undefined for a local stack. */
export type Deployment = { name: string; stackName: string | undefined; outputs: Outputs; aws: AwsOptions };

/** The global options that select a stack. */
export type DeploymentOptions = {
  outputs?: string | undefined;
  stack?: string | undefined;
  local?: number | undefined;
};

/**
 * Finds the stack by outputs file or by name, or else the running local stack or the default stack.
 *
 * @throws OperationError
 */
export const findDeployment = async (options: DeploymentOptions): Promise<Deployment> => {
  const { outputs: file, stack, local } = options;
  if (file !== undefined) return fromFile(file, stack);
  if (stack !== undefined) return deployedStack(stack, await describeStack(stack));
  const localDeployment = findLocal(local);
  if (localDeployment) return localDeployment;
  try {
    return deployedStack(DEFAULT_STACK, await describeStack(DEFAULT_STACK));
  } catch (error) {
    throw new OperationError(`No local stack runs, and the deployed stack cannot be read: ${errorSummary(error)}`);
  }
};

const findLocal = (port: number | undefined): Deployment | undefined => {
  const running = runningStacks().filter((stack) => port === undefined || stack.port === port);
  const [stack, another] = running;
  if (port !== undefined && !stack) throw new OperationError(`No local stack runs with its API on port ${port}.`);
  if (another) {
    const ports = running.map((each) => each.port).join(', ');
    throw new UsageError(`Several local stacks run, with APIs on ports ${ports}: select one with --local PORT.`);
  }
  return stack && localDeployment(stack);
};

/** Returns the deployment of a running local stack. @throws OperationError if its outputs are incomplete */
export const localDeployment = ({ port, outputs: values, endpoint }: Omit<AnnouncedStack, 'pid'>): Deployment => ({
  name: `local stack (API on port ${port})`,
  stackName: undefined,
  outputs: parse(values, 'the local stack'),
  aws: {
    region: regionOf(values),
    endpoint,
    credentials: { accessKeyId: 'local-operator', secretAccessKey: 'local' },
  },
});

const outputsFile = z.record(z.string(), z.record(z.string(), z.string()));

const fromFile = (file: string, stack: string | undefined): Deployment => {
  const stacks = outputsFile.safeParse(readJson(file));
  if (!stacks.success) throw new OperationError(`${file} was not written by \`cdk deploy --outputs-file\`.`);
  const names = Object.keys(stacks.data);
  const name = stack ?? (names.length === 1 ? names[0] : DEFAULT_STACK) ?? DEFAULT_STACK;
  const found = stacks.data[name];
  if (!found)
    throw new OperationError(`${file} does not contain stack ${name}, only ${names.join(', ') || 'no stacks'}.`);
  return deployedStack(name, found);
};

const readJson = (file: string): unknown => {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new OperationError(`${file} cannot be read: ${errorSummary(error)}`);
  }
};

const describeStack = async (name: string): Promise<Record<string, string>> => {
  const { CloudFormationClient, DescribeStacksCommand } = await import('@aws-sdk/client-cloudformation');
  const { Stacks: [stack] = [] } = await new CloudFormationClient().send(
    new DescribeStacksCommand({ StackName: name }),
  );
  const values = stack?.Outputs ?? [];
  return Object.fromEntries(values.map(({ OutputKey = '', OutputValue = '' }) => [OutputKey, OutputValue]));
};

const deployedStack = (name: string, values: Record<string, string>): Deployment => ({
  name: `stack ${name}`,
  stackName: name,
  outputs: parse(values, `stack ${name}`),
  aws: { region: regionOf(values) },
});

const parse = (values: Record<string, string>, stack: string): Outputs => {
  const parsed = outputs.safeParse(values);
  if (parsed.success) return parsed.data;
  const missing = [...new Set(parsed.error.issues.map(({ path }) => String(path[0])))];
  throw new OperationError(`The outputs of ${stack} lack ${missing.join(', ')}: deploy this version first.`);
};

/** Returns the region of an ARN, so that no region needs to be configured. */
const regionOf = ({ AlarmEventsQueueArn = '' }: Record<string, string>): string =>
  AlarmEventsQueueArn.split(':')[3] || 'us-east-1';
