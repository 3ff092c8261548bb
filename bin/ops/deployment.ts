import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { notificationTypeIds } from '../../shared/contracts/notification-types.ts';
import { Failure, sentence, UsageFailure } from './failure.ts';
import { runningStacks } from './local-stacks.ts';

/** The stack that is meant where no other is named (`lib/app.ts`, which takes a second to load). */
export const DEFAULT_STACK = 'MonitoringNotifications';

/** The queues with a dead-letter queue of our own, as operators call them: alarm events, and one for each notification type. */
export const queueNames = ['alarm-events', ...notificationTypeIds] as const;

/** A queue with a dead-letter queue of our own, as operators call it. */
export type QueueName = (typeof queueNames)[number];

/** The queue to which SQS moves messages that were received too often, as operators call it. */
export const CRASHED = 'crashed';

/** The queues without a dead-letter queue of our own. */
export const otherQueueNames = ['email-events', CRASHED] as const;

/** A queue without a dead-letter queue of our own, as operators call it. */
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
      // The alarm events have no retries.
      z.looseRecord(
        z.enum(queueNames),
        z.object({ queue: z.string(), deadLetters: z.string(), retries: z.optional(z.string()) }),
      ),
      z.looseRecord(z.enum(otherQueueNames), z.object({ queue: z.string() })),
    ),
  ),
});

/** Where the parts of a stack are. */
export type Outputs = z.infer<typeof outputs>;

/** The names of the outputs that the command line needs. */
export const outputNames = Object.keys(outputs.shape);

/** How the SDK reaches the stack. */
export type AwsOptions = {
  region: string;
  endpoint?: string;
  credentials?: { accessKeyId: string; secretAccessKey: string };
};

/** The stack that a command works on. `stackName` is undefined for a local one. */
export type Target = { name: string; stackName: string | undefined; outputs: Outputs; aws: AwsOptions };

/** By which options a stack is named. */
export type TargetOptions = { outputs?: string | undefined; stack?: string | undefined; local?: number | undefined };

/** Finds the stack: by a file of outputs, by its name, or the local one that runs; else the deployed one. @throws Failure */
export async function findDeployment(options: TargetOptions): Promise<Target> {
  const { outputs: file, stack, local } = options;
  if (file !== undefined) return fromFile(file, stack);
  if (stack !== undefined) return deployed(stack, await describeStack(stack));
  const found = localTarget(local);
  if (found) return found;
  try {
    return deployed(DEFAULT_STACK, await describeStack(DEFAULT_STACK));
  } catch (error) {
    throw new Failure(`No local stack runs, and there is no way to the deployed one: ${sentence(error)}`);
  }
}

function localTarget(port: number | undefined): Target | undefined {
  const running = runningStacks().filter((stack) => port === undefined || stack.port === port);
  const [stack, another] = running;
  if (port !== undefined && !stack) throw new Failure(`No local stack runs with its API on port ${port}.`);
  if (another) {
    const ports = running.map((one) => one.port).join(', ');
    throw new UsageFailure(`Several local stacks run, with their APIs on ports ${ports}: choose one by --local PORT.`);
  }
  return (
    stack && {
      name: `local stack (API on port ${stack.port})`,
      stackName: undefined,
      outputs: parse(stack.outputs, 'the local stack'),
      aws: {
        region: regionOf(stack.outputs),
        endpoint: stack.endpoint,
        credentials: { accessKeyId: 'local-operator', secretAccessKey: 'local' },
      },
    }
  );
}

const outputsFile = z.record(z.string(), z.record(z.string(), z.string()));

function fromFile(file: string, stack: string | undefined): Target {
  const stacks = outputsFile.safeParse(readJson(file));
  if (!stacks.success) throw new Failure(`${file} is no file of \`cdk deploy --outputs-file\`.`);
  const names = Object.keys(stacks.data);
  const name = stack ?? (names.length === 1 ? names[0] : DEFAULT_STACK) ?? DEFAULT_STACK;
  const found = stacks.data[name];
  if (!found) throw new Failure(`${file} has no stack ${name}, only ${names.join(', ') || 'none at all'}.`);
  return deployed(name, found);
}

function readJson(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new Failure(`${file} cannot be read: ${sentence(error)}`);
  }
}

async function describeStack(name: string): Promise<Record<string, string>> {
  const { CloudFormationClient, DescribeStacksCommand } = await import('@aws-sdk/client-cloudformation');
  const { Stacks: [stack] = [] } = await new CloudFormationClient().send(
    new DescribeStacksCommand({ StackName: name }),
  );
  const values = stack?.Outputs ?? [];
  return Object.fromEntries(values.map(({ OutputKey = '', OutputValue = '' }) => [OutputKey, OutputValue]));
}

function deployed(name: string, values: Record<string, string>): Target {
  return {
    name: `stack ${name}`,
    stackName: name,
    outputs: parse(values, `stack ${name}`),
    aws: { region: regionOf(values) },
  };
}

function parse(values: Record<string, string>, stack: string): Outputs {
  const parsed = outputs.safeParse(values);
  if (parsed.success) return parsed.data;
  const wrong = [...new Set(parsed.error.issues.map(({ path }) => String(path[0])))];
  throw new Failure(`The outputs of ${stack} lack ${wrong.join(', ')}: deploy this version of it first.`);
}

/** The region is in every ARN, so it need not be configured. */
function regionOf({ AlarmEventsQueueArn = '' }: Record<string, string>): string {
  return AlarmEventsQueueArn.split(':')[3] || 'us-east-1';
}
