import { ReceiveMessageCommand, SendMessageBatchCommand, SQSClient } from '@aws-sdk/client-sqs';
import { QueryCommand } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod';
import type { NotificationTypeId } from '../../shared/contracts/notification-types.ts';
import { inBatches } from '../../shared/domain/in-batches.ts';
import type { connectApi } from './api.ts';
import type { RunningStack } from './running-stack.ts';
import { until } from './until.ts';

const email = z.object({
  kind: z.literal('email'),
  to: z.array(z.string()),
  subject: z.string(),
  text: z.string(),
  html: z.string(),
  headers: z.record(z.string(), z.string()),
});
const sms = z.object({ kind: z.literal('sms'), to: z.string(), text: z.string() });
const managed = z.object({
  kind: z.literal('managed'),
  topic: z.string(),
  subject: z.nullable(z.string()),
  text: z.string(),
});
const httpRequest = z.object({
  kind: z.enum(['incidentpager', 'incidentrouter', 'atomfeed']),
  path: z.string(),
  body: z.string(),
});
const webhook = z.object({
  kind: z.literal('webhook'),
  tenant: z.string(),
  path: z.string(),
  body: z.string(),
  verified: z.boolean(),
  problems: z.array(z.string()),
});
const inboxSchema = z.array(z.union([email, sms, managed, httpRequest, webhook]));

/** A message in the inbox of the local stack. */
export type InboxMessage = z.infer<typeof inboxSchema>[number];

const record = z.looseObject({
  status: z.string(),
  event_id: z.string(),
  attempt_count: z.number(),
  next_attempt_at_ms: z.number(),
  attempts: z.array(
    z.looseObject({
      timestamp_ms: z.number(),
      duration_ms: z.number(),
      result: z.string(),
      status: z.optional(z.number()),
    }),
  ),
});

/** Connects to the queues, delivery records and inbox of a running stack. */
export const connectPipeline = (
  stack: RunningStack,
  { awsOptions, documents, table }: Pick<ReturnType<typeof connectApi>, 'awsOptions' | 'documents' | 'table'>,
) => {
  const sqs = new SQSClient(awsOptions);

  /** Sends events to the alarm-events queue, in batches of ten. Strings are sent unchanged. */
  const sendEvents = async (events: readonly unknown[]): Promise<void> => {
    for (const batch of inBatches(events, 10)) {
      const Entries = batch.map((event, index) => ({
        Id: String(index),
        MessageBody: typeof event === 'string' ? event : JSON.stringify(event),
      }));
      const { Failed = [] } = await sqs.send(new SendMessageBatchCommand({ QueueUrl: stack.alarm_queue_url, Entries }));
      if (Failed.length > 0) throw new Error(`not sent: ${JSON.stringify(Failed)}`);
    }
  };

  /** Returns the messages in the inbox, newest first. */
  const inbox = async (): Promise<InboxMessage[]> => {
    if (stack.inbox_url === undefined) throw new Error('The stack has no inbox.');
    return inboxSchema.parse(await (await fetch(stack.inbox_url)).json());
  };

  /** Waits until the inbox contains at least `count` matching messages. @returns all of them */
  const sent = (count: number, matches: (message: InboxMessage) => boolean): Promise<InboxMessage[]> =>
    until(async () => {
      const matching = (await inbox()).filter(matches);
      return matching.length >= count ? matching : undefined;
    });

  const deliveries = async (tenant: string, notificationId: string) => {
    const { Items = [] } = await documents.send(
      new QueryCommand({
        TableName: table('Deliveries'),
        KeyConditionExpression: 'pk = :pk',
        FilterExpression: 'attribute_exists(event_id)',
        ExpressionAttributeValues: { ':pk': `delivery#${notificationId}#${tenant}` },
        ConsistentRead: true,
      }),
    );
    return Items.map((item) => record.parse(item));
  };

  /** Waits for a delivery record of a notification with this status. */
  const delivery = (tenant: string, notificationId: string, status: string) =>
    until(async () => (await deliveries(tenant, notificationId)).find((found) => found.status === status));

  /** Returns the URL of the dead-letter queue of a type or of the alarm events. */
  const deadLetterQueue = (source: 'AlarmEvents' | NotificationTypeId): string => {
    const found =
      stack.dead_letter_queues?.[source === 'AlarmEvents' ? 'alarm-events' : source] ??
      stack.queues.find((url) => new RegExp(`${source}-?DeadLetters`).test(url));
    if (found === undefined) throw new Error(`There is no dead-letter queue of ${source}.`);
    return found;
  };

  /** Waits for a dead letter with a matching body. @returns its body and attributes */
  const deadLetter = async (source: 'AlarmEvents' | NotificationTypeId, matches: (body: string) => boolean) =>
    until(async () => {
      const { Messages = [] } = await sqs.send(
        new ReceiveMessageCommand({
          QueueUrl: deadLetterQueue(source),
          MaxNumberOfMessages: 10,
          VisibilityTimeout: 0,
          MessageAttributeNames: ['All'],
        }),
      );
      const found = Messages.find(({ Body = '' }) => matches(Body));
      return (
        found && {
          body: found.Body ?? '',
          attributes: Object.fromEntries(
            Object.entries(found.MessageAttributes ?? {}).map(([name, { StringValue = '' }]) => [name, StringValue]),
          ),
        }
      );
    });

  return { sqs, sendEvents, inbox, sent, deliveries, delivery, deadLetterQueue, deadLetter };
};
