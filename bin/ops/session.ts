import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { SQSClient } from '@aws-sdk/client-sqs';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import type { Command } from 'commander';
import { z } from 'zod';
import { createAccountRepository } from '../../shared/adapters/accounts/account-repository.ts';
import { createDeliveryRepository } from '../../shared/adapters/deliveries/delivery-repository.ts';
import { createNotificationRepository } from '../../shared/adapters/notifications/notification-repository.ts';
import { createTokenRepository } from '../../shared/adapters/tokens/token-repository.ts';
import { findDeployment } from './deployment.ts';

const globalOptions = z.object({
  json: z.boolean().default(false),
  outputs: z.string().optional(),
  stack: z.string().optional(),
  local: z.number().optional(),
});

/** Operators may sit far from the region; they can wait longer than a function. */
const patience = { requestHandler: { connectionTimeout: 5_000, requestTimeout: 30_000, throwOnRequestTimeout: true } };

/** What a command works with: the stack, its parts, and how it answers. */
export type Session = Awaited<ReturnType<typeof connect>>;

/** Finds the stack that the command's options name. @throws Failure where there is none */
export async function connect(command: Command) {
  const { json, ...options } = globalOptions.parse(command.optsWithGlobals());
  const target = await findDeployment(options);
  const client = { ...target.aws, ...patience };
  const documents = DynamoDBDocumentClient.from(new DynamoDBClient(client));
  const { outputs } = target;
  return {
    target,
    sqs: new SQSClient(client),
    tokens: createTokenRepository(documents, outputs.TokensTable),
    accounts: createAccountRepository(documents, outputs.AccountsTable),
    notifications: createNotificationRepository(documents, outputs.NotificationsTable),
    deliveries: createDeliveryRepository(documents, outputs.DeliveriesTable),
    /** Whether a bar of progress may be shown. */
    isWatched: !json && process.stderr.isTTY,

    /** Answers: a value to machines (`--json`), a text to people, who may get a note beside it. */
    answer(value: unknown, text: string, note = ''): void {
      process.stdout.write(json ? `${JSON.stringify(value)}\n` : ended(text));
      if (!json && note !== '') process.stderr.write(ended(note));
    },
  };
}

const ended = (text: string): string => (text.endsWith('\n') ? text : `${text}\n`);
