import type { HistoryEntry, Observations } from '../world/observations.ts';
import { recipientsOf } from '../world/receivers.ts';
import { isSentByAws, notificationsOf, type PlannedNotification, type PlannedTenant } from '../world/scenario.ts';
import { isUnrecorded } from './duplicates-are-explained.ts';
import { mayBeStopped } from './email-stops.ts';
import { mayBeShadowed, type Notice, noticeByMs, noticesOf } from './notices.ts';
import { areFunctionsCalm } from './requests.ts';
import type { Rule } from './rule.ts';

export const DAY_MS = 86_400_000;

/** The first notices of outages of a notification on a UTC day. */
export const MAX_ANNOUNCED_PER_DAY = 3;

/** Records of what happens at one time are written within this time, and read after it, ms. */
const SAME_TIME_MS = 60_000;

/** An outage that nothing disturbs is announced within this time of its start, ms. */
const MAX_NOTICE_MS = 900_000;

/** After the fourth attempt of a round, none is due within five minutes of its start. */
const FAILING_ATTEMPTS = 4;

const REPORTERS = /^(watch|report)-deliveries#/;
const NOTIFIERS = /^(watch-deliveries|report-deliveries|send-technicalContactsEmail)#/;

export const startOfDay = (atMs: number): number => atMs - (atMs % DAY_MS);

/** Returns when alerts and summaries arrived at a notification, ms since the start, in order. */
export const arrivalsAt = (
  notification: PlannedNotification,
  tenant: PlannedTenant,
  { arrivals }: Observations,
): number[] => {
  const recipients = recipientsOf(notification, tenant);
  return arrivals
    .filter(({ to, kind }) => recipients.includes(to) && (kind === 'alert' || kind === 'summary'))
    .map(({ atMs }) => atMs);
};

const isFirst = ({ kind }: Notice): boolean => kind === 'failing' || kind === 'undelivered';

/** Returns how many outages of a notification a contact was notified of on the UTC day of a time, ms since the epoch. */
export const announcedOn = (
  own: readonly Notice[],
  contact: string,
  timeMs: number,
  { startMs }: Observations,
): number =>
  own.filter(
    (notice) =>
      isFirst(notice) &&
      notice.arrival.to === contact &&
      startOfDay(startMs + notice.arrival.atMs) === startOfDay(timeMs),
  ).length;

const NUMBERS = /Of (\d+) alerts? that failed in this outage, (\d+) w\w+ delivered since, and (\d+) \w+ still failed/;

const FIRST_FAILURE = /^First failure: ([\d-]+) ([\d:]+) UTC([+-][\d:]+)?$/m;

/**
 * An alert in the history. Times are ms since the start. One that had failed and that a summary lists, or a newer one
 * superseded, is not still failed. It ends an outage if another one arrived in its place before that.
 */
type Alert = {
  eventId: string;
  failedMs: readonly number[];
  endedMs: number;
  isDelivered: boolean;
  isStillFailed: boolean;
};

const alertOf = (
  { event_id: eventId, attempts, status, updated_at }: HistoryEntry,
  entries: readonly HistoryEntry[],
  startMs: number,
): Alert => {
  const failed = attempts
    .filter(({ result }) => result !== 'delivered')
    .map(({ timestamp, duration_ms }) => timestamp + duration_ms);
  const isDelivered = status === 'delivered';
  const isReplaced =
    (status === 'superseded' || status === 'summarized') &&
    entries.some(
      (other) =>
        other.status === 'delivered' && other.updated_at > Math.max(...failed) && other.updated_at <= updated_at,
    );
  return {
    eventId,
    failedMs: failed.map((timeMs) => timeMs - startMs),
    endedMs: isDelivered || isReplaced ? updated_at - startMs : Number.POSITIVE_INFINITY,
    isDelivered,
    isStillFailed: ['pending', 'failed', 'bounced'].includes(status),
  };
};

/** An open circuit prevents attempts, which are not in the history. */
const isUnattempted = ({ failedMs }: Alert): boolean => failedMs.length === 0;

/** Returns what is wrong with the notices of the end of outages that a contact got about a notification. */
const problemsOf = (
  tenant: PlannedTenant,
  notification: PlannedNotification,
  notices: readonly Notice[],
  contact: string,
  observations: Observations,
): string[] => {
  const { history, startMs, endedMs, scenario } = observations;
  const { phases = [] } = tenant.contacts.find(({ address }) => address === contact) ?? {};
  const getsAll =
    phases.every(({ behavior }) => behavior === 'accept') &&
    !mayBeStopped(observations, contact, 0, endedMs) &&
    !mayBeShadowed(tenant, { fromMs: 0, atMs: 0 }, observations);
  if (!getsAll) return [];
  const { pause } = scenario.stream;
  const name = `${tenant.name} ${notification.type} ${notification.key}`;
  const all = notices.filter(
    ({ notification: index, arrival }) => index === notification.index && arrival.to === contact,
  );
  // One that arrived and could not be recorded may be repeated.
  const isRecorded = (arrival: Notice['arrival']): boolean => !isUnrecorded(arrival, observations);
  const own = all.filter(({ arrival }) => isRecorded(arrival));
  const timesOf = (wanted: (notice: Notice) => boolean): number[] =>
    own.filter(wanted).map(({ arrival }) => arrival.atMs);
  const first = timesOf(isFirst);
  const ends = own.filter(({ kind }) => kind === 'recovered');
  const entries = history.filter(
    (entry) => entry.notification === notification.index && !entry.event_id.endsWith(':unreached'),
  );
  const alerts = entries.map((entry) => alertOf(entry, entries, startMs));
  const arrived = arrivalsAt(notification, tenant, observations);
  const isCalm = (functions: RegExp, fromMs: number, untilMs: number): boolean =>
    areFunctionsCalm(observations, functions, fromMs, untilMs);

  /** An outage is announced once, also if it lasts for days. */
  const repeated = timesOf(({ kind }) => kind === 'failing').flatMap((atMs) => {
    const before = first.findLast((timeMs) => timeMs < atMs);
    const isRepetition = all.some(
      ({ kind, arrival }) => kind === 'failing' && arrival.atMs < atMs && !isRecorded(arrival),
    );
    if (before === undefined || isRepetition) return [];
    const fromMs = isCalm(NOTIFIERS, before - MAX_NOTICE_MS, before) ? before - MAX_NOTICE_MS : 0;
    return arrived.some((timeMs) => timeMs >= fromMs && timeMs <= atMs)
      ? []
      : [`${name} was announced again to ${contact}, without an alert that arrived in between.`];
  });

  /** An outage above the limit of a day that lasts is announced on the next day, by the first attempt that fails. */
  const unannounced = alerts.flatMap(({ failedMs }) => {
    const [fourthMs] = failedMs.slice(FAILING_ATTEMPTS - 1);
    if (isSentByAws(notification.type) || fourthMs === undefined) return [];
    const nextMs = failedMs.find(
      (timeMs) => startOfDay(startMs + timeMs) > startOfDay(startMs + fourthMs) && timeMs > fourthMs,
    );
    if (nextMs === undefined) return [];
    const sinceMs = arrived.findLast((timeMs) => timeMs < fourthMs) ?? 0;
    const byMs = noticeByMs(tenant, contact, nextMs, observations);
    const hasArrived = arrived.some((timeMs) => timeMs > fourthMs - SAME_TIME_MS && timeMs <= byMs);
    if (hasArrived || byMs === Number.POSITIVE_INFINITY || !isCalm(REPORTERS, 0, byMs)) return [];
    return first.some((timeMs) => timeMs >= sinceMs - SAME_TIME_MS && timeMs <= byMs)
      ? []
      : [`${name} still failed on the next day, and ${contact} got no notice in time.`];
  });

  const unjustified = ends.flatMap(({ arrival: { atMs, text } }, index) => {
    if (!isCalm(NOTIFIERS, 0, atMs)) return [];
    const [, failed = 0, delivered = 0, stillFailed = 0] = NUMBERS.exec(text)?.map(Number) ?? [];
    const announced = first.filter((timeMs) => timeMs <= atMs);
    const announcedMs = announced.at(-1) ?? 0;
    // After a pause of the stream, alerts had arrived before.
    const pausedMs = announcedMs - (pause?.untilMs ?? 0);
    const [, day, time, offset = 'Z'] = FIRST_FAILURE.exec(text) ?? [];
    const beganAtMs = Date.parse(`${day}T${time}${offset}`) - startMs;
    const fromMs = pause && pausedMs >= 0 && pausedMs < MAX_NOTICE_MS ? pause.fromMs : announcedMs;
    // Records have the times of senders, whose clocks may be ahead.
    const untilMs = atMs + scenario.maxSkewMs;
    const before = alerts.filter(({ failedMs }) => failedMs.some((timeMs) => timeMs < atMs));
    const isNamed = ({ eventId }: Alert): boolean => text.includes(`Event: ${eventId}\n`);
    // The notice that announces an outage may be sent after its end, and SES and SNS fail without an attempt that counts.
    const deliveredMs = [...before, ...alerts.filter((alert) => isUnattempted(alert) && isNamed(alert))]
      .map((alert) => alert.endedMs)
      .filter((timeMs) => timeMs > Math.min(fromMs, beganAtMs) && timeMs <= untilMs);
    const endedAtMs = Math.min(...deliveredMs);
    const lastMs = Math.max(...deliveredMs, ...arrived.filter((timeMs) => timeMs <= atMs));
    const isLasting = before.some(
      (alert) =>
        alert.endedMs > untilMs && alert.failedMs.some((timeMs) => timeMs > lastMs && timeMs < atMs - 2 * SAME_TIME_MS),
    );
    const within = before.filter(({ failedMs }) => failedMs.some((timeMs) => timeMs > fromMs && timeMs < endedAtMs));
    const isReplaced = before.some((alert) => alert.endedMs === endedAtMs && !alert.isDelivered);
    const atLeast = {
      delivered: within.filter((alert) => alert.isDelivered && alert.endedMs <= endedAtMs).length,
      stillFailed: within.filter(({ isStillFailed }) => isStillFailed).length,
    };
    const ofOutage = alerts.filter(
      (alert) =>
        isUnattempted(alert) ||
        // The alert that ended it, the first one that was reported, may have failed before it began.
        isNamed(alert) ||
        // After a redelivery, only the end of its last attempt is known, which is written a moment later.
        alert.failedMs.some((timeMs) => timeMs >= beganAtMs - 1_000),
    );
    // No alert is left out that failed before, since the last arrival.
    const sinceMs = arrived.findLast((timeMs) => timeMs < beganAtMs) ?? 0;
    const isLeftOut = alerts.some(({ failedMs }) => {
      const lastMs = Math.max(...failedMs);
      return lastMs > sinceMs + SAME_TIME_MS && lastMs < beganAtMs - 2 * scenario.maxSkewMs - 1_000;
    });
    const isCount =
      !isLeftOut &&
      failed >= delivered + stillFailed &&
      failed <= entries.length &&
      delivered >= Math.max(isReplaced ? 0 : 1, atLeast.delivered) &&
      delivered <= ofOutage.filter((alert) => alert.endedMs <= untilMs).length &&
      stillFailed >= Math.min(atLeast.stillFailed, 1) &&
      stillFailed <= alerts.filter((alert) => alert.endedMs > endedAtMs - SAME_TIME_MS).length;
    return [
      ...(index < announced.length
        ? []
        : [`${contact} learned ${index + 1} times that ${name} works again, of ${announced.length} outages.`]),
      ...(deliveredMs.length > 0
        ? []
        : [`${contact} learned that ${name} works again, and no alert that had failed arrived.`]),
      ...(isLasting ? [`${contact} learned that ${name} works again, while it failed.`] : []),
      ...(isCount
        ? []
        : [`${contact} learned of wrong numbers of ${name}: ${failed}, ${delivered} and ${stillFailed}.`]),
    ];
  });

  const missing = alerts.flatMap(({ failedMs, endedMs: atMs }) => {
    const announcedMs = first.findLast((timeMs) => timeMs < atMs - SAME_TIME_MS);
    const byMs = noticeByMs(tenant, contact, atMs, observations);
    if (failedMs.length === 0 || announcedMs === undefined || byMs === Number.POSITIVE_INFINITY) return [];
    const hasFailedAround = alerts.some((alert) =>
      alert.failedMs.some((timeMs) => timeMs > atMs - SAME_TIME_MS && timeMs < byMs),
    );
    // An outage above the limit of the day has no notices.
    const mayBeSilent = [announcedMs, atMs].some(
      (timeMs) => announcedOn(own, contact, startMs + timeMs, observations) >= MAX_ANNOUNCED_PER_DAY,
    );
    if (hasFailedAround || mayBeSilent || !isCalm(REPORTERS, announcedMs - MAX_NOTICE_MS, byMs)) return [];
    return all.some(({ kind, arrival }) => kind === 'recovered' && arrival.atMs > announcedMs && arrival.atMs <= byMs)
      ? []
      : [`An alert that had failed arrived at ${name}, and ${contact} did not learn that it works again in time.`];
  });

  return [...repeated, ...unannounced, ...unjustified, ...missing];
};

/** The technical contacts learn once of each outage that they were notified of that alerts arrive again, and of how many. */
export const outagesEndOnce: Rule = {
  name: 'outages end once',
  violations(observations) {
    const notices = noticesOf(observations);
    return observations.scenario.tenants.flatMap((tenant) =>
      notificationsOf(tenant)
        .filter(({ type }) => type !== 'technicalContactsEmail')
        .flatMap((notification) =>
          tenant.contacts.flatMap(({ address }) => problemsOf(tenant, notification, notices, address, observations)),
        ),
    );
  },
};
