import type { InboxMessage } from '../../bin/local/inbox/inbox.ts';
import { type NoticeKind, noticeKinds } from '../../shared/contracts/notice.ts';
import type { NotificationTypeId } from '../../shared/contracts/notification-types.ts';
import { deliveryId, parseDeliveryPartition } from '../../shared/domain/delivery-key.ts';
import type { DeliveryRecord } from '../../shared/domain/delivery-record.ts';
import { eventHeader } from '../../shared/domain/event-header.ts';
import { DEFAULT_NOTIFICATION_ID, OPERATORS_NOTIFICATION_ID } from '../../shared/domain/notification-id.ts';
import { eventOfRecord } from '../../shared/pipeline/notices/notification-notice.ts';
import { unreachedNoticeId } from '../../shared/pipeline/notices/unreached-notice.ts';
import { type NoticeMessage, noticeIn } from './inbox.ts';
import { attemptsOf, type ChaosObservations, type ChaosRow, countOutcomes, type ObservedDelivery } from './outcomes.ts';
import type { PlannedDelivery } from './plan.ts';
import type { ChaosTarget } from './targets.ts';

/** The kinds, by the end of their subjects. */
const SUBJECTS: readonly (readonly [NoticeKind, RegExp])[] = [
  ['failing', /(is failing|was reported as spam)$/],
  ['undelivered', /was not delivered$/],
  ['shadow', /shadow mode$/],
  ['limit', /alerts are summarized$/],
  ['unreached', / Escalated: |(could be reached|could not be reached|that do not exist|reached nobody today)$/],
];

/** @throws Error if the subject is unknown */
const kindOf = ({ subject }: NoticeMessage): NoticeKind => {
  const found = SUBJECTS.find(([, pattern]) => pattern.test(subject));
  if (!found) throw new Error(`No kind of notice has the subject "${subject}".`);
  return found[0];
};

const fact = ({ text }: NoticeMessage, name: string): string | undefined =>
  new RegExp(`^${name}: (\\S+)$`, 'm').exec(text)?.[1];

/** The types of notifications that get notices. Fallback notifications are SMS. */
const TYPES: ReadonlyMap<string, NotificationTypeId> = new Map([
  [DEFAULT_NOTIFICATION_ID, 'technicalContactsEmail'],
  [OPERATORS_NOTIFICATION_ID, 'managed'],
]);

/** Returns what a notice is about, as in its event ID: a notification, a limit, an alarm and state, or a summary. */
const aboutOf = (notice: NoticeMessage, tenant: string, planned: readonly PlannedDelivery[]): string => {
  if (kindOf(notice) === 'limit') return /limit (\w+) of this day/.exec(notice.text)?.[1] ?? '';
  if (kindOf(notice) !== 'unreached') return fact(notice, 'ID') ?? '';
  // Both are in the headline of the alert.
  if (notice.subject.endsWith('reached nobody today')) return `summary-${/\[([A-Z]+)\]/.exec(notice.text)?.[1]}`;
  const number = /#(\d+)#/.exec(notice.text)?.[1];
  // The escalation of an alert in a cancelled summary has only IDs.
  const [, state, alarm] = /\[([A-Z]+)\] en: (al\d+)/.exec(notice.text) ?? [];
  const delivery = planned.find(({ event }) =>
    number === undefined
      ? event.tenant_id === tenant && event.alarm.id === alarm && event.details.state === state
      : event.number === Number(number),
  );
  if (!delivery) throw new Error(`A notice is about an unknown event: ${notice.subject}`);
  const [, about = ''] = unreachedNoticeId(eventHeader(delivery.event, 0), 0).split(':');
  return about;
};

/** Identifies the recipient, the kind and what a notice is about, but not its day or hour, which its text omits. */
const noticeKey = (notificationId: string, tenant: string, kind: string, about: string): string =>
  [notificationId, tenant, kind, about].join(' ');

/** The event ID of a notice is `<tenant>:<about>:<time>:<kind>`. */
const keyOfRecord = ({ pk, event_id }: DeliveryRecord): string => {
  const [tenant = '', about = '', , kind = ''] = event_id.split(':');
  return noticeKey(parseDeliveryPartition(pk).notificationId, tenant, kind, about);
};

/**
 * Returns when each notice arrived, in ms since the epoch on this machine, by its key.
 *
 * @throws Error for an unknown notice
 */
const arrivalsByKey = (
  inbox: readonly InboxMessage[],
  planned: readonly PlannedDelivery[],
  targets: readonly ChaosTarget[],
): ReadonlyMap<string, number[]> => {
  const targetByKey = new Map(targets.map((target) => [target.key, target]));
  const arrivals = inbox.flatMap((message) => {
    const notice = noticeIn(message);
    if (!notice) return [];
    const { recipient } = notice;
    const target = targetByKey.get(recipient);
    const notificationId = notice.notificationId ?? target?.id ?? '';
    const tenant = notificationId === OPERATORS_NOTIFICATION_ID ? recipient : (target?.tenant ?? '');
    const key = noticeKey(notificationId, tenant, kindOf(notice), aboutOf(notice, tenant, planned));
    return [{ key, atMs: Date.parse(message.sent_at) }];
  });
  const groups = Map.groupBy(arrivals, ({ key }) => key);
  return new Map([...groups].map(([key, group]) => [key, group.map(({ atMs }) => atMs)]));
};

/**
 * Returns the record of a notice that arrived, among those of other days or hours: the one with an attempt at that
 * time, or else the last one that existed, because the worker was killed before it recorded the attempt.
 */
const recordAt = (
  records: readonly DeliveryRecord[],
  atMs: number,
  observations: ChaosObservations,
): DeliveryRecord | undefined =>
  records.find((record) =>
    attemptsOf(record, observations).some(
      ({ result, timestamp_ms, duration_ms }) =>
        result === 'delivered' && timestamp_ms <= atMs && atMs <= timestamp_ms + duration_ms,
    ),
  ) ??
  records.findLast(({ created_at_ms }) => observations.toRealTimeMs(created_at_ms) <= atMs) ??
  records[0];

const observedNotices = (
  records: readonly DeliveryRecord[],
  arrivals: ReadonlyMap<string, readonly number[]>,
  observations: ChaosObservations,
): ObservedDelivery[] => {
  const sorted = records.toSorted((left, right) => left.created_at_ms - right.created_at_ms);
  const groups = Map.groupBy(sorted, keyOfRecord);
  return sorted.map((record) => {
    const key = keyOfRecord(record);
    const { tenant, notificationId } = parseDeliveryPartition(record.pk);
    const ofSameKey = groups.get(key) ?? [];
    return {
      deliveryId: deliveryId(eventOfRecord(tenant, record), notificationId),
      type: TYPES.get(notificationId) ?? 'sms',
      record,
      isDeleted: false,
      acceptedAtMs: (arrivals.get(key) ?? []).filter((atMs) => recordAt(ofSameKey, atMs, observations) === record),
    };
  });
};

/** Counts the outcomes of the notices of each kind. @throws Error if a notice arrived that has no record */
export const countNotices = (
  inbox: readonly InboxMessage[],
  planned: readonly PlannedDelivery[],
  targets: readonly ChaosTarget[],
  observations: ChaosObservations,
): ChaosRow[] => {
  // Summaries are accounted for with the alerts that they list.
  const records = [...observations.records.values()].filter(
    ({ notice }) => notice !== undefined && notice !== 'summary',
  );
  const arrivals = arrivalsByKey(inbox, planned, targets);
  const keys = new Set(records.map(keyOfRecord));
  for (const key of arrivals.keys()) if (!keys.has(key)) throw new Error(`The notice ${key} has no record.`);
  return noticeKinds.map((kind) => {
    const ofKind = records.filter(({ notice }) => notice === kind);
    return countOutcomes(`${kind} notices`, observedNotices(ofKind, arrivals, observations), observations);
  });
};

/** How long after an attempt its sender may be killed before it has queued the notice. */
const MAX_REPORT_DELAY_MS = 15_000;

/**
 * Counts the notifications with a failed delivery whose technical contacts were not notified of it. A sender that is
 * killed before it queues a notice queues it when it receives its message again, unless a client or an operator has
 * started the next round by then. Such a notification counts only if no kill explains it.
 *
 * @param unqueued log lines of notices that could not be queued
 */
export const countMissingNotices = (
  targets: readonly ChaosTarget[],
  observations: Pick<ChaosObservations, 'records' | 'kills' | 'toRealTimeMs'>,
  unqueued: readonly string[],
): number => {
  const all = [...observations.records.values()];
  const failed = Map.groupBy(
    all.filter(({ status, round }) => status === 'failed' || round > 1),
    ({ pk }) => parseDeliveryPartition(pk).notificationId,
  );
  const noticed = new Set(
    all.filter(({ notice }) => notice === 'undelivered').map(({ event_id }) => event_id.split(':')[1]),
  );
  const isKilledAfterAttempt = (type: string, record: DeliveryRecord): boolean =>
    attemptsOf(record, observations).some(({ timestamp_ms, duration_ms }) =>
      observations.kills.some(
        ({ name, atMs }) =>
          name.includes(`send-${type}`) &&
          atMs >= timestamp_ms &&
          atMs <= timestamp_ms + duration_ms + MAX_REPORT_DELAY_MS,
      ),
    );
  return targets.filter(
    ({ id, type }) =>
      // Technical contacts cannot be notified by email that their email fails.
      type !== 'technicalContactsEmail' &&
      failed.has(id) &&
      !noticed.has(id) &&
      !unqueued.some((line) => line.includes(id)) &&
      !failed.get(id)?.some((record) => record.round > 1 && isKilledAfterAttempt(type, record)),
  ).length;
};
