import type { Message } from '@aws-sdk/client-sqs';
import { z } from 'zod';
import { moment } from './print.ts';

/** A dead letter as it is shown: ids and reasons, never what is in it. */
export type DeadLetter = {
  time: string;
  reason: string;
  cause: string;
  attempts: number | undefined;
  tenant: string | undefined;
  notification: string | undefined;
  event: string | undefined;
  /** The ARN of the queue from which SQS moved it; undefined where we sent it to the dead-letter queue ourselves. */
  source_arn: string | undefined;
  message_id: string | undefined;
};

const ids = z.object({ tenant_id: z.string().optional(), event_id: z.string().optional() });
const delivery = z.object({ notification_id: z.string(), event: ids });

/** What may be told of a message in a dead-letter queue. A body that cannot be read is why some of them are there. */
export function deadLetter({ Body = '', MessageId, Attributes = {}, MessageAttributes = {} }: Message): DeadLetter {
  const said = (name: string) => MessageAttributes[name]?.StringValue;
  const content = read(Body);
  const died = Date.parse(said('time') ?? '') || Number(Attributes.SentTimestamp ?? 0);
  const attempts = said('attempts');
  return {
    time: moment(died),
    reason: said('reason') ?? (Attributes.DeadLetterQueueSourceArn ? 'received too often' : 'not said'),
    cause: said('cause') ?? 'service',
    attempts: attempts === undefined ? undefined : Number(attempts),
    tenant: content.tenant ?? Attributes.MessageGroupId,
    notification: content.notification,
    event: content.event,
    source_arn: Attributes.DeadLetterQueueSourceArn,
    message_id: MessageId,
  };
}

function read(body: string): { tenant?: string | undefined; notification?: string; event?: string | undefined } {
  const value = parse(body);
  const sent = delivery.safeParse(value);
  if (sent.success) {
    const { notification_id: notification, event } = sent.data;
    return { tenant: event.tenant_id, notification, event: event.event_id };
  }
  const event = ids.safeParse(value).data;
  return { tenant: event?.tenant_id, event: event?.event_id };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
