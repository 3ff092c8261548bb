import {
  GetQueueAttributesCommand,
  ReceiveMessageCommand,
  SendMessageBatchCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import { QueryCommand } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod';
import type { NotificationTypeId } from '../../shared/contracts/notification-types.ts';
import type { connectApi } from './api.ts';
import type { RunningStack } from './running-stack.ts';
import { until } from './until.ts';

const mail = z.object({
  kind: z.literal('email'),
  to: z.array(z.string()),
  subject: z.string(),
  text: z.string(),
  html: z.string(),
});
const text = z.object({ kind: z.literal('sms'), to: z.string(), text: z.string() });
const managed = z.object({ kind: z.literal('managed'), subject: z.string(), text: z.string() });
const posted = z.object({
  kind: z.enum(['incidentpager', 'incidentrouter', 'atomfeed']),
  path: z.string(),
  body: z.string(),
});
const inboxSchema = z.array(z.union([mail, text, managed, posted]));

/** Something that the local inbox keeps. */
export type Sent = z.infer<typeof inboxSchema>[number];

const record = z.looseObject({
  status: z.string(),
  event_id: z.string(),
  attempt_count: z.number(),
  next_attempt_at_ms: z.number(),
  attempts: z.array(z.looseObject({ timestamp_ms: z.number(), result: z.string(), status: z.optional(z.number()) })),
});

/** The queues, records and inbox of a running stack, as tests use them. */
export const connectPipeline = (
  stack: RunningStack,
  { awsOptions, documents, table }: Pick<ReturnType<typeof connectApi>, 'awsOptions' | 'documents' | 'table'>,
) => {
  /** The queues of the running stack. */
  const sqs = new SQSClient(awsOptions);

  /** Puts messages on the alarm-events queue, ten to a batch; texts go as they are. */
  const sendEvents = async (events: readonly unknown[]): Promise<void> => {
    for (let start = 0; start < events.length; start += 10) {
      const batch = events.slice(start, start + 10).map((event, index) => ({
        Id: String(index),
        MessageBody: typeof event === 'string' ? event : JSON.stringify(event),
      }));
      const { Failed = [] } = await sqs.send(
        new SendMessageBatchCommand({ QueueUrl: stack.alarm_queue_url, Entries: batch }),
      );
      if (Failed.length > 0) throw new Error(`not sent: ${JSON.stringify(Failed)}`);
    }
  };

  /** What was sent so far, newest first. */
  const inbox = async (): Promise<Sent[]> => {
    if (stack.inbox_url === undefined) throw new Error('The stack has no inbox.');
    return inboxSchema.parse(await (await fetch(stack.inbox_url)).json());
  };

  /** What was sent and fits, as soon as there are `amount` of it. */
  const sent = (amount: number, fits: (one: Sent) => boolean): Promise<Sent[]> =>
    until(async () => {
      const fitting = (await inbox()).filter(fits);
      return fitting.length >= amount ? fitting : undefined;
    });

  /** The records of a notification's deliveries. */
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

  /** The one record of a notification, once it has this status. */
  const delivery = (tenant: string, notificationId: string, status: string) =>
    until(async () => (await deliveries(tenant, notificationId)).find((found) => found.status === status));

  /** The address of a dead-letter queue: of the alarm events, or of a type. */
  const deadLetterQueue = (of: 'AlarmEvents' | NotificationTypeId): string => {
    const found =
      stack.dead_letter_queues?.[of === 'AlarmEvents' ? 'alarm-events' : of] ??
      stack.queues.find((url) => new RegExp(`${of}-?DeadLetters`).test(url));
    if (found === undefined) throw new Error(`There is no dead-letter queue of ${of}.`);
    return found;
  };

  /** A message of a dead-letter queue whose body fits, with its reason. */
  const deadLetter = async (of: 'AlarmEvents' | NotificationTypeId, fits: (body: string) => boolean) =>
    until(async () => {
      const { Messages = [] } = await sqs.send(
        new ReceiveMessageCommand({
          QueueUrl: deadLetterQueue(of),
          MaxNumberOfMessages: 10,
          VisibilityTimeout: 0,
          MessageAttributeNames: ['All'],
        }),
      );
      const found = Messages.find(({ Body = '' }) => fits(Body));
      return (
        found && {
          body: found.Body ?? '',
          attributes: Object.fromEntries(
            Object.entries(found.MessageAttributes ?? {}).map(([name, { StringValue = '' }]) => [name, StringValue]),
          ),
        }
      );
    });

  /** Messages that a queue holds, in whatever state. */
  const depth = async (url: string): Promise<number> => {
    const { Attributes = {} } = await sqs.send(
      new GetQueueAttributesCommand({ QueueUrl: url, AttributeNames: ['All'] }),
    );
    const {
      ApproximateNumberOfMessages: visible,
      ApproximateNumberOfMessagesNotVisible: inFlight,
      ApproximateNumberOfMessagesDelayed: delayed,
    } = Attributes;
    return Number(visible) + Number(inFlight) + Number(delayed);
  };

  return { sqs, sendEvents, inbox, sent, deliveries, delivery, deadLetterQueue, deadLetter, depth };
};
