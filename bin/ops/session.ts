import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { SQSClient } from '@aws-sdk/client-sqs';
import type { STSClientConfig } from '@aws-sdk/client-sts';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import type { Command } from 'commander';
import { z } from 'zod';
import { createAccountAdministration } from '../../shared/adapters/accounts/account-administration.ts';
import { type Audit, createAuditLog } from '../../shared/adapters/audits/audit-log.ts';
import { createDeliveryReader } from '../../shared/adapters/deliveries/delivery-reader.ts';
import { createDeliveryChanges } from '../../shared/adapters/deliveries/delivery-repository.ts';
import { documentOptions } from '../../shared/adapters/dynamodb/items.ts';
import { createNotificationRepository } from '../../shared/adapters/notifications/notification-repository.ts';
import { createTokenRepository } from '../../shared/adapters/tokens/token-repository.ts';
import type { AuditedChange, ChangeContext } from '../../shared/contracts/audit.ts';
import { exactNumber } from '../../shared/contracts/json.ts';
import { type Deployment, findDeployment } from './deployment.ts';
import { printResult, sanitize } from './print.ts';

const globalOptions = z.object({
  json: z.boolean().default(false),
  stack: z.string().optional(),
  local: z.number().optional(),
  why: z.string().optional(),
});

/** Longer timeouts than those of the functions: operators may be far from the region. */
const HTTP_OPTIONS = {
  requestHandler: { connectionTimeout: 5_000, requestTimeout: 30_000, throwOnRequestTimeout: true },
};

/** The stack that a command operates, clients for it, and the output of the command. */
export type Session = ReturnType<typeof openSession>;

/** Connects a command that only reads (`findDeployment`). */
export const connect = async (command: Command, useDefault = true): Promise<Session> => {
  const { json, why, ...options } = globalOptions.parse(command.optsWithGlobals());
  return openSession(await findDeployment(options, useDefault), json, why);
};

/**
 * Connects a command that changes a stack or shows its secrets, and prints the stack on standard error first. It uses
 * no deployed stack by default.
 */
export const connectForChange = async (command: Command): Promise<Session> => {
  const session = await connect(command, false);
  process.stderr.write(`Target: ${session.deployment.target}\n`);
  return session;
};

export const printsJson = (command: Command): boolean => globalOptions.parse(command.optsWithGlobals()).json;

/** Returns the ARN of the IAM principal of the credentials, from `sts:GetCallerIdentity`, which needs no permission. */
const callerArn = async (config: STSClientConfig): Promise<string> => {
  // Loaded on demand: most commands change nothing.
  const { GetCallerIdentityCommand, STSClient } = await import('@aws-sdk/client-sts');
  const { Arn } = await new STSClient(config).send(new GetCallerIdentityCommand());
  if (Arn === undefined) throw new Error('STS responded without an ARN.');
  return Arn;
};

const progressLine = {
  show: (text: string): void => {
    if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${text}`);
  },
  clear: (): void => progressLine.show(''),
};

/** Creates the clients of a stack. With `json`, `print` writes JSON. @param why the reason of all changes, for the audit */
export const openSession = (deployment: Deployment, json: boolean, why?: string) => {
  const client = { ...deployment.aws, ...HTTP_OPTIONS };
  const documents = DynamoDBDocumentClient.from(new DynamoDBClient(client), {
    ...documentOptions,
    unmarshallOptions: { wrapNumbers: exactNumber },
  });
  const sqs = new SQSClient(client);
  const { outputs } = deployment;
  const audits = createAuditLog(documents, {
    AUDITS_TABLE: outputs.AuditsTable,
    AUDIT_RETENTION_DAYS: outputs.AuditRetentionDays,
  });
  let principal: Promise<string> | undefined;
  const operator = (): Promise<string> => {
    principal ??= callerArn(client);
    return principal;
  };
  const context = async (): Promise<ChangeContext> => ({
    actor: { type: 'operator', principal: await operator() },
    ...(why !== undefined && { why: sanitize(why) }),
  });
  return {
    deployment,
    sqs,
    documents,
    tokens: createTokenRepository(documents, outputs.TokensTable),
    accounts: createAccountAdministration(documents, outputs.AccountsTable),
    notifications: createNotificationRepository(documents, outputs.NotificationsTable),
    deliveries: {
      ...createDeliveryReader(documents, outputs.DeliveriesTable),
      ...createDeliveryChanges(documents, outputs.DeliveriesTable),
    },
    operator,

    /** Returns what records the changes of the command in the audit of a tenant, or of the whole stack. */
    audit: async (tenant?: string): Promise<Audit> =>
      audits.by({ context: await context(), ...(tenant !== undefined && { tenant }) }),

    /** Records a change of a tenant, or of the whole stack, that no transaction records. Call it before the change. */
    record: async (change: AuditedChange, tenant?: string): Promise<void> =>
      audits.record({ context: await context(), ...(tenant !== undefined && { tenant }) }, change),

    progress: progressLine,

    /** Prints the value as JSON with `--json`; otherwise prints the text, and the note on standard error. */
    print: (value: unknown, text: string, note = ''): void => printResult(json, value, text, note),
  };
};
