import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { SQSClient } from '@aws-sdk/client-sqs';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import type { Command } from 'commander';
import { z } from 'zod';
import { createAccountRepository } from '../../shared/adapters/accounts/account-repository.ts';
import { createDeliveryRepository } from '../../shared/adapters/deliveries/delivery-repository.ts';
import { createNotificationRepository } from '../../shared/adapters/notifications/notification-repository.ts';
import { createTokenRepository } from '../../shared/adapters/tokens/token-repository.ts';
import { type Deployment, findDeployment } from './deployment.ts';

const globalOptions = z.object({
  json: z.boolean().default(false),
  outputs: z.string().optional(),
  stack: z.string().optional(),
  local: z.number().optional(),
});

/** Longer timeouts than those of the functions: operators may be far from the region. */
const HTTP_OPTIONS = {
  requestHandler: { connectionTimeout: 5_000, requestTimeout: 30_000, throwOnRequestTimeout: true },
};

/** The stack that a command operates, clients for it, and the output of the command. */
export type Session = ReturnType<typeof openSession>;

/** Connects to the stack that the options of a command select. @throws OperationError if there is none */
export const connect = async (command: Command): Promise<Session> => {
  const { json, ...options } = globalOptions.parse(command.optsWithGlobals());
  return openSession(await findDeployment(options), json);
};

/** Creates clients for a stack. @param json whether `print` writes JSON */
export const openSession = (deployment: Deployment, json: boolean) => {
  const client = { ...deployment.aws, ...HTTP_OPTIONS };
  const documents = DynamoDBDocumentClient.from(new DynamoDBClient(client));
  const { outputs } = deployment;
  return {
    deployment,
    sqs: new SQSClient(client),
    documents,
    tokens: createTokenRepository(documents, outputs.TokensTable),
    accounts: createAccountRepository(documents, outputs.AccountsTable),
    notifications: createNotificationRepository(documents, outputs.NotificationsTable),
    deliveries: createDeliveryRepository(documents, outputs.DeliveriesTable),
    /** Whether a progress bar may be shown. */
    showsProgress: !json && process.stderr.isTTY,

    /** Prints the value as JSON with `--json`; otherwise prints the text, and the note on standard error. */
    print: (value: unknown, text: string, note = ''): void => {
      process.stdout.write(json ? `${JSON.stringify(value)}\n` : withNewline(text));
      if (!json && note !== '') process.stderr.write(withNewline(note));
    },
  };
};

/** Connects to the stack that a command changes. @throws OperationError if there is none */
export const connectForChange = (command: Command): Promise<Session> => connect(command);

const withNewline = (text: string): string => (text.endsWith('\n') ? text : `${text}\n`);
