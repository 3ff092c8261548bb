import { z } from 'zod';
import { notificationTypeIds } from '../../shared/contracts/notification-types.ts';
import { limitNames } from '../../shared/contracts/tenant-limits.ts';
import { errorSummary, OperationError, UsageError } from './errors.ts';
import { type AnnouncedStack, runningStacks } from './local-stacks.ts';

/** The default stack name. Repeated from `lib/app.ts`, because importing that file takes a second. */
export const DEFAULT_STACK = 'MonitoringNotifications';

/** The environment variable with the name of a deployed stack, for commands without `--stack` and `--local`. */
export const STACK_VARIABLE = 'NOTIFICATIONS_STACK';

/** The queues with their own dead-letter queue: of alarm events, and one per notification type. */
export const queueNames = ['alarm-events', ...notificationTypeIds] as const;

export type QueueName = (typeof queueNames)[number];

/** The queue to which SQS moves messages after too many receives. */
export const CRASHED = 'crashed';

/** The queues without their own dead-letter queue. */
export const otherQueueNames = ['email-events', 'delivery-reports', CRASHED] as const;

export type OtherQueueName = (typeof otherQueueNames)[number];

/** The queues whose messages no function consumes: those of dead letters, and the crashed queue. */
export const deadLetterQueueNames = [...queueNames, CRASHED] as const;

/** The name of a queue whose messages no function consumes: that of their type, or the crashed queue. */
export type DeadLetterQueueName = (typeof deadLetterQueueNames)[number];

/** Returns the URL of a queue whose messages no function consumes. */
export const deadLetterUrl = ({ QueueUrls }: Outputs, name: DeadLetterQueueName): string =>
  name === CRASHED ? QueueUrls[name].queue : QueueUrls[name].deadLetters;

const parsedJson = z.string().transform((text, context): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    context.addIssue('must be JSON');
    return z.NEVER;
  }
});

/** The settings that commands need: most of them for `ops verify`; `changed`, those that differ from their defaults. */
const knownSettings = z.object({
  emailFrom: z.string(),
  smsPerTenantPerDay: z.number(),
  smsMonthlyBudgetUsd: z.number(),
  lambdaConcurrencyQuota: z.number(),
  pagerEndpoint: z.string(),
  routerEndpoint: z.string(),
  feedEndpoint: z.string(),
  changed: z.looseObject({ egressAllow: z.array(z.string()).optional() }),
});

const outputs = z.object({
  Version: z.string(),
  Commit: z.string(),
  BaseUrl: z.string(),
  AlarmEventsQueueArn: z.string(),
  ManagedTopicArn: z.string(),
  NotificationsTable: z.string(),
  AccountsTable: z.string(),
  TokensTable: z.string(),
  DeliveriesTable: z.string(),
  AuditsTable: z.string(),
  AuditRetentionDays: z.coerce.number(),
  Settings: parsedJson.pipe(knownSettings),
  TenantLimits: parsedJson.pipe(z.record(z.enum(limitNames), z.int())),
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

export type Outputs = z.infer<typeof outputs>;

export const outputNames = Object.keys(outputs.shape);

export type AwsOptions = {
  region: string;
  endpoint?: string;
  credentials?: { accessKeyId: string; secretAccessKey: string };
};

export type Deployment = {
  /** The name in the output of commands, such as `stack Prod`. */
  name: string;
  /** The name, and where the stack is: the region and the account, or the port of a local stack. */
  target: string;
  /** Undefined for a local stack. */
  stackName: string | undefined;
  /** When the stack was last deployed, ms since the epoch; undefined for a local stack. */
  deployedAtMs: number | undefined;
  outputs: Outputs;
  aws: AwsOptions;
};

export type DeploymentOptions = {
  stack?: string | undefined;
  local?: number | undefined;
};

/**
 * Finds the stack that the options select, or the only running local stack, or with `useDefault` the deployed stack
 * with the default name. @throws UsageError without one, OperationError if it cannot be read
 */
export const findDeployment = async (options: DeploymentOptions, useDefault: boolean): Promise<Deployment> => {
  const { local, stack = (local === undefined && process.env[STACK_VARIABLE]) || undefined } = options;
  if (stack !== undefined) return fromCloudFormation(stack);
  const running = runningStacks();
  if (local !== undefined) return localDeployment(stackOnPort(running, local));
  const [only, another] = running;
  if (another) {
    const ports = running.map(({ port }) => port).join(', ');
    throw new UsageError(
      `Several local stacks run, with APIs on ports ${ports}: select one with --local PORT, or a deployed stack with --stack NAME.`,
    );
  }
  if (only) return localDeployment(only);
  if (!useDefault) {
    throw new UsageError(
      'No local stack runs: start one with `npm start`, or name a deployed stack with --stack NAME.',
    );
  }
  return fromCloudFormation(DEFAULT_STACK).catch((error: unknown) => {
    throw new OperationError(`No local stack runs, and the deployed stack cannot be read: ${errorSummary(error)}`);
  });
};

const stackOnPort = (running: readonly AnnouncedStack[], port: number): AnnouncedStack => {
  const found = running.find((stack) => stack.port === port);
  if (found) return found;
  const ports = running.map((stack) => stack.port).join(', ');
  throw new OperationError(
    `No local stack runs with its API on port ${port}: ${ports ? `pass --local with one of ${ports}` : 'start one with `npm start`'}.`,
  );
};

/** Returns the deployment of a running local stack. @throws OperationError if its outputs are incomplete */
export const localDeployment = ({ port, endpoint, outputs: values }: Omit<AnnouncedStack, 'pid'>): Deployment => {
  const name = `local stack (API on port ${port})`;
  return {
    name,
    target: name,
    stackName: undefined,
    deployedAtMs: undefined,
    outputs: parse(values, 'the local stack'),
    aws: {
      region: locationOf(values).region,
      endpoint,
      credentials: { accessKeyId: 'local-operator', secretAccessKey: 'local' },
    },
  };
};

/** Returns the endpoints that replace those of AWS for all services or for one. */
const endpointVariables = (): [name: string, url: string][] =>
  process.env.AWS_IGNORE_CONFIGURED_ENDPOINT_URLS === 'true'
    ? []
    : Object.entries(process.env).flatMap(([name, url = '']): [string, string][] =>
        /^AWS_ENDPOINT_URL(_|$)/.test(name) && url !== '' ? [[name, url]] : [],
      );

const fromCloudFormation = async (name: string): Promise<Deployment> => {
  const { CloudFormationClient, DescribeStacksCommand } = await import('@aws-sdk/client-cloudformation');
  // The AWS CLI and the CDK also read AWS_DEFAULT_REGION; the SDK does not.
  const region = process.env.AWS_REGION || process.env.AWS_DEFAULT_REGION;
  const client = new CloudFormationClient(region ? { region } : {});
  const { Stacks: [stack] = [] } = await client
    .send(new DescribeStacksCommand({ StackName: name }))
    .catch(async (error: unknown) => {
      const isMissing = error instanceof Error && / does not exist/.test(error.message);
      if (!isMissing) throw error;
      throw new OperationError(
        `The account of the AWS credentials has no stack ${name} in ${await client.config.region()}: check AWS_PROFILE, AWS_REGION and the name.`,
      );
    });
  const found = stack?.Outputs ?? [];
  const values = Object.fromEntries(found.map(({ OutputKey = '', OutputValue = '' }) => [OutputKey, OutputValue]));
  const { region: location, account } = locationOf(values);
  const endpoints = endpointVariables().map(([variable, url]) => `, ${variable} ${url}`);
  return {
    name: `stack ${name}`,
    target: `stack ${name} (region ${location}, account ${account}${endpoints.join('')})`,
    stackName: name,
    deployedAtMs: (stack?.LastUpdatedTime ?? stack?.CreationTime)?.getTime(),
    outputs: parse(values, `stack ${name}`),
    aws: { region: location },
  };
};

const parse = (values: Record<string, string>, stack: string): Outputs => {
  const parsed = outputs.safeParse(values);
  if (parsed.success) return parsed.data;
  const missing = [...new Set(parsed.error.issues.map(({ path }) => String(path[0])))];
  throw new OperationError(
    `The outputs of ${stack} lack ${missing.join(', ')}: deploy this version, or use the command line of the deployed one.`,
  );
};

/** Returns the region and the account of an ARN, so that no region needs to be configured. */
const locationOf = ({ AlarmEventsQueueArn = '' }: Record<string, string>): { region: string; account: string } => {
  const [, , , region, account] = AlarmEventsQueueArn.split(':');
  return { region: region || 'us-east-1', account: account || 'unknown' };
};

export type StackResource = { type: string; logicalId: string; physicalId: string };

/** Returns the resources of a deployed stack, read with these options or else those of the environment. A name prefix could also match resources of other stacks. */
export const stackResources = async (
  { aws }: { aws: Partial<AwsOptions> },
  stackName: string,
): Promise<StackResource[]> => {
  const { CloudFormationClient, paginateListStackResources } = await import('@aws-sdk/client-cloudformation');
  const client = new CloudFormationClient(aws);
  const pages = await Array.fromAsync(paginateListStackResources({ client }, { StackName: stackName }));
  return pages.flatMap(({ StackResourceSummaries = [] }) =>
    StackResourceSummaries.map(({ ResourceType = '', LogicalResourceId = '', PhysicalResourceId = '' }) => ({
      type: ResourceType,
      logicalId: LogicalResourceId,
      physicalId: PhysicalResourceId,
    })),
  );
};
