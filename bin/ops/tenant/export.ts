import type { Message } from '@aws-sdk/client-sqs';
import { storedStop } from '../../../shared/adapters/accounts/email-stops.ts';
import { createFailedMessageList } from '../../../shared/adapters/deliveries/failed-message-list.ts';
import { parseFailures } from '../../../shared/adapters/deliveries/notification-failures.ts';
import { parseRecord } from '../../../shared/adapters/deliveries/stored-record.ts';
import { UnreadableNotificationError } from '../../../shared/adapters/notifications/notification-targets.ts';
import type { TokenEntry } from '../../../shared/adapters/tokens/token-repository.ts';
import { tokenRecord } from '../../../shared/api/account-reader.ts';
import { failureFields } from '../../../shared/api/delivery-lists.ts';
import { parseStoredAudit } from '../../../shared/contracts/audit.ts';
import { MAX_TIME_MS } from '../../../shared/contracts/collection.ts';
import { jsonOrUndefined } from '../../../shared/contracts/json.ts';
import { auditRecord } from '../../../shared/domain/audit.ts';
import { parseDeliveryPartition } from '../../../shared/domain/delivery-key.ts';
import { listedDelivery } from '../../../shared/domain/delivery-status.ts';
import { accountRecord } from '../account.ts';
import { deadLetter, visitDeadLettersOf } from '../dead-letter.ts';
import type { Session } from '../session.ts';
import { type ItemKind, itemsOf, type OwnedItem } from './stored-items.ts';

/** A line of an export: the kind of the record, and the record with the field names of the API where it has them. */
export type ExportLine = { kind: string; record: unknown };

/** The version of the format. It increases if a kind or a field is removed or changes its meaning. */
const FORMAT = 2;

type Writer = (line: ExportLine) => Promise<void>;
type ExportOptions = {
  withSecrets: boolean;
  nowMs: number;
  write: Writer;
};

const sortKey = ({ item }: OwnedItem): string => String(item.sk);
const notificationOf = ({ item }: OwnedItem): string => parseDeliveryPartition(String(item.pk)).id;

/** Returns parsed JSON with the digits of its numbers, or the text if it is not JSON. */
const parsedOrText = (text: string): unknown => {
  const value = jsonOrUndefined(text);
  return value === undefined ? text : value;
};

const deadLetterRecord = (queue: string, message: Message) => {
  const { time, reason, cause, attempts = null } = deadLetter(message);
  return { queue, time, reason, cause, attempts, message: parsedOrText(message.Body ?? '') };
};

/** Returns functions that convert each kind of item to lines. */
const converters = (
  session: Session,
  tenant: string,
  withSecrets: boolean,
  tokens: readonly TokenEntry[],
): Record<ItemKind, (owned: OwnedItem) => AsyncIterable<ExportLine> | Iterable<ExportLine>> => {
  const failedMessages = createFailedMessageList(session.documents, session.deployment.outputs.DeliveriesTable);
  /** The current version of each notification, whose chunks are a part of its record. */
  const versions = new Map<string, unknown>();
  let failedNotification: string | undefined;

  return {
    async *notifications(owned) {
      const { item } = owned;
      const id = sortKey(owned);
      versions.set(id, item.version);
      try {
        const found = await session.notifications.get({ tenant, id });
        if (found) yield { kind: 'notification', record: found.record };
      } catch (error) {
        if (!(error instanceof UnreadableNotificationError)) throw error;
        const { webhook_request: _, signing_secrets: __, ...record } = item;
        yield { kind: 'unreadable_notification', record };
      }
    },
    *notification_chunks(owned) {
      const [id = '', version] = sortKey(owned).split('#');
      if (versions.get(id) === version) return;
      yield { kind: 'replaced_notification_content', record: { notification_id: id, content: owned.item.content } };
    },
    *notification_counters({ item }) {
      yield { kind: 'notification_counter', record: { used: item.used } };
    },
    *idempotency_keys({ item }) {
      yield { kind: 'idempotency_key', record: { notification_id: item.notification_id } };
    },
    async *accounts() {
      const account = await session.accounts.describe(tenant);
      yield { kind: 'account', record: accountRecord(tenant, account, withSecrets) };
    },
    *daily_usage({ item }) {
      const [counter, day] = String(item.pk).split('#');
      const { used, keys } = item;
      yield { kind: 'daily_usage', record: { counter, day, used: keys instanceof Set ? keys.size : used } };
    },
    *email_stops({ item }) {
      const [, recipient] = String(item.pk).split('#');
      const stop = storedStop(item, Date.now());
      if (stop) yield { kind: 'email_stop', record: { recipient, reason: stop.reason, since: stop.sinceMs } };
    },
    // The list has all tokens.
    *tokens() {},
    *token_lists() {
      for (const token of tokens) yield { kind: 'token', record: tokenRecord(token) };
    },
    *deliveries(owned) {
      const delivery = listedDelivery(parseRecord(owned.item), true);
      yield { kind: 'delivery', record: { notification_id: notificationOf(owned), ...delivery } };
    },
    *event_id_conflicts(owned) {
      const record = { notification_id: notificationOf(owned), conflict_at: owned.item.conflict_at_ms };
      yield { kind: 'event_id_conflict', record };
    },
    *incident_locks(owned) {
      const { newest_event_at_ms: newest_event_at = null, newest_accepted_at_ms: newest_accepted_at = null } =
        owned.item;
      yield {
        kind: 'incident',
        record: { notification_id: notificationOf(owned), newest_event_at, newest_accepted_at },
      };
    },
    *destination_lists({ item }) {
      yield { kind: 'destination_list', record: { notification_ids: item.notification_ids } };
    },
    *summarized_alerts({ item }) {
      if (item.sk === 'first') return;
      const { name, state, status, at_ms: timestamp } = item;
      yield { kind: 'summarized_alert', record: { name, state, status, timestamp } };
    },
    *failures({ item }) {
      const { notificationId, ...failures } = parseFailures(item);
      yield { kind: 'failures', record: { notification_id: notificationId, ...failureFields(failures) } };
    },
    *outages(owned) {
      const { started_at_ms: started_at, ended_at_ms: ended_at = null } = owned.item;
      yield { kind: 'outage', record: { notification_id: notificationOf(owned), started_at, ended_at } };
    },
    *audits({ item }) {
      yield { kind: 'audit', record: auditRecord(parseStoredAudit(item)) };
    },
    /** Reads all messages of a notification at its first item. */
    async *failed_alerts(owned) {
      const notificationId = notificationOf(owned);
      if (notificationId === failedNotification) return;
      failedNotification = notificationId;
      const range = { sinceMs: 0, after: null, untilMs: MAX_TIME_MS };
      for await (const messages of failedMessages.list({ tenant, id: notificationId }, range)) {
        for (const message of messages) {
          yield {
            kind: 'failed_alert',
            record: {
              notification_id: notificationId,
              failed_at: message.failedAtMs,
              message: parsedOrText(message.body()),
            },
          };
        }
      }
    },
  };
};

/**
 * Writes everything that is stored about a tenant. An export without the last line, `end`, is incomplete. @returns the
 * number of lines by kind
 */
export const exportTenant = async (
  session: Session,
  tenant: string,
  { withSecrets, nowMs, write }: ExportOptions,
): Promise<Record<string, number>> => {
  const counts: Record<string, number> = {};
  const add = async (line: ExportLine): Promise<void> => {
    counts[line.kind] = (counts[line.kind] ?? 0) + 1;
    await write(line);
  };
  const header = { format: FORMAT, tenant_id: tenant, created_at: nowMs, includes_secrets: withSecrets };
  await write({ kind: 'export', record: header });
  const convert = converters(session, tenant, withSecrets, await session.tokens.list(tenant));
  for await (const items of itemsOf(session, tenant)) {
    for (const owned of items) for await (const line of convert[owned.kind](owned)) await add(line);
  }
  await visitDeadLettersOf(session, tenant, async (queue, { messages }) => {
    for (const message of messages) await add({ kind: 'dead_letter', record: deadLetterRecord(queue, message) });
  });
  await write({ kind: 'end', record: { counts } });
  return counts;
};
