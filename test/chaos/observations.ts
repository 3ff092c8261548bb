import { paginateScan } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod';
import type { LocalStack } from '../../bin/local/stack.ts';
import { createFailedMessages } from '../../shared/adapters/deliveries/failed-messages.ts';
import { parseRecord } from '../../shared/adapters/deliveries/stored-record.ts';
import { type NotificationTypeId, notificationTypeIds } from '../../shared/contracts/notification-types.ts';
import { eventHash, parseDeliveryPartition } from '../../shared/domain/delivery-key.ts';
import type { DeliveryRecord } from '../../shared/domain/delivery-record.ts';
import { incidentKey } from '../../shared/domain/incident.ts';
import { isCurrentFailure } from '../../shared/domain/redelivery.ts';
import { INCIDENT_LENGTH } from '../../shared/domain/summary.ts';
import { eventOfRecord } from '../../shared/pipeline/notices/notification-notice.ts';
import type { connectApi } from '../support/api.ts';
import type { ChaosTarget } from './targets.ts';

/** The records and the failed messages at one moment of a run. */
export type StoredState = {
  /** Delivery records by `<pk> <sk>`. */
  records: ReadonlyMap<string, DeliveryRecord>;
  /** The hash of the newest alert of each alarm that is listed in a summary, by `listedKey`. */
  listed: ReadonlyMap<string, string>;
  /**
   * Returns whether the message that starts the next round of a failed delivery is in the dead-letter queue of its type
   * or in the stored messages of its tenant.
   */
  isDeadLettered: (type: NotificationTypeId, record: DeliveryRecord) => boolean;
};

type Api = Pick<ReturnType<typeof connectApi>, 'documents' | 'table'>;

const deadLetter = z.object({
  notification_id: z.string(),
  round: z.number(),
  event: z.object({ event_id: z.string() }),
});

/** A time after all failures, ms since the epoch. */
const END_MS = 9_999_999_999_999;

const keyOf = ({ pk, sk }: { pk: string; sk: string }): string => `${pk} ${sk}`;

/** Identifies the alarm of an alert in the partition of a summary. */
export const listedKey = (summary: { tenant_id: string; event_id: string }, alert: DeliveryRecord): string =>
  `${eventHash(summary)} ${incidentKey(eventOfRecord(summary.tenant_id, alert)).slice(0, INCIDENT_LENGTH)}`;

const readRecords = async ({
  documents,
  table,
}: Api): Promise<Pick<StoredState, 'listed'> & { records: Map<string, DeliveryRecord> }> => {
  const records = new Map<string, DeliveryRecord>();
  const listed = new Map<string, string>();
  const pages = paginateScan({ client: documents }, { TableName: table('Deliveries'), ConsistentRead: true });
  for await (const { Items = [] } of pages) {
    // The table also contains incident locks and failed messages.
    for (const item of Items) {
      const [, summary, alarm] =
        /^summary#(\w+)#.* alarm#(\w+)$/.exec(keyOf({ pk: String(item.pk), sk: String(item.sk) })) ?? [];
      if (summary) listed.set(`${summary} ${alarm}`, String(item.newest).replace(/^.*#/, ''));
      if (item.content_hash === undefined) continue;
      const record = parseRecord(item);
      records.set(keyOf(record), record);
    }
  }
  return { records, listed };
};

/** Returns the keys of the records whose current failure the tenants can redeliver. */
const readRedeliverable = async (
  { documents, table }: Api,
  targets: readonly ChaosTarget[],
  records: ReadonlyMap<string, DeliveryRecord>,
): Promise<Set<string>> => {
  const failedMessages = createFailedMessages(documents, table('Deliveries'));
  const keys = new Set<string>();
  for (const { tenant, id } of targets) {
    const range = { sinceMs: 0, after: null, untilMs: END_MS };
    for await (const group of failedMessages.list({ tenant, notificationId: id }, range)) {
      for (const message of group) {
        const key = keyOf(message.recordKey);
        if (isCurrentFailure(records.get(key), message)) keys.add(key);
      }
    }
  }
  return keys;
};

const letterKey = (type: NotificationTypeId, notificationId: string, eventId: string, round: number): string =>
  `${type} ${notificationId} ${eventId} ${round}`;

/** Returns the bodies of all messages of a queue. */
export const bodiesIn = ({ queues }: Pick<LocalStack, 'queues'>, queueName: string): string[] =>
  queues.get(queueName)?.messages.map(({ body }) => body) ?? [];

const readDeadLetters = (stack: LocalStack): Set<string> =>
  new Set(
    notificationTypeIds.flatMap((type) =>
      bodiesIn(stack, `Delivery-${type}-DeadLetters`).map((body) => {
        const { notification_id, round, event } = deadLetter.parse(JSON.parse(body));
        return letterKey(type, notification_id, event.event_id, round);
      }),
    ),
  );

/** Reads the records and the failed messages. AWS must not fail meanwhile. */
export const readStoredState = async (
  stack: LocalStack,
  api: Api,
  targets: readonly ChaosTarget[],
): Promise<StoredState> => {
  const { records, listed } = await readRecords(api);
  const redeliverable = await readRedeliverable(api, targets, records);
  const deadLetters = readDeadLetters(stack);
  return {
    records,
    listed,
    isDeadLettered: (type, record) => {
      const { notificationId } = parseDeliveryPartition(record.pk);
      const letter = letterKey(type, notificationId, record.event_id, record.round + 1);
      return redeliverable.has(keyOf(record)) || deadLetters.has(letter);
    },
  };
};
