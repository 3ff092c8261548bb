import type { HistoryEntry, Observations } from '../world/observations.ts';
import { isSentByAws, notificationsOf, type PlannedNotification, type PlannedTenant } from '../world/scenario.ts';
import { isUnrecorded } from './duplicates-are-explained.ts';
import { contactsOf, type Notice, type NoticeKind, noticeByMs, noticesOf } from './notices.ts';
import { announcedOn, arrivalsAt, DAY_MS, MAX_ANNOUNCED_PER_DAY, startOfDay } from './outages-end-once.ts';
import { nameOf, plannedDeliveries } from './planned-alerts.ts';
import { hasOneRound, lateFromMs, reportedByMs } from './requests.ts';
import type { Rule } from './rule.ts';
import { isStopped } from './stops-hold.ts';

const MINUTE_MS = 60_000;

/** A sender may be 2 s off, and a notice is queued within 5 s. */
const TOLERANCE_MS = 10_000;

/** An alert that fails earlier than this after its event does not count as failing, ms (docs/decisions/notices.md). */
const MIN_FAILING_MS = 240_000;

/** Returns when an alert counted as failing for sure, ms since the epoch, or undefined. */
const failingFromMs = (entry: HistoryEntry, { type }: Pick<PlannedNotification, 'type'>): number | undefined =>
  // Failures of SES and SNS are not caused by the destination.
  isSentByAws(type) ? undefined : lateFromMs(entry);

/** Returns whether an alert may have ended before it was reported that it was failing. */
const mayHaveEndedBefore = (
  entry: HistoryEntry,
  tenant: string,
  failedAtMs: number,
  observations: Observations,
): boolean => {
  const { startMs } = observations;
  const byMs = reportedByMs(observations, { tenant, eventId: entry.event_id }, failedAtMs - startMs);
  return entry.status !== 'failed' && entry.updated_at - startMs <= byMs;
};

/** The technical contacts get a notice of each outage of a notification, and of undelivered alerts once a day. */
export const failuresAreNoticed: Rule = {
  name: 'failures are noticed',
  violations(observations) {
    const { scenario, earlierHistory, startMs } = observations;
    const notices = noticesOf(observations);
    const violationsOf = (tenant: PlannedTenant, notification: PlannedNotification): string[] => {
      const own = notices.filter((notice) => notice.notification === notification.index);
      const arrivedMs = arrivalsAt(notification, tenant, observations);
      /** Returns the contacts that got none of these notices since a time, in time if nothing delayed it. */
      const uninformed = (
        kinds: readonly NoticeKind[],
        failedAtMs: number,
        fromMs: number,
        beganMs: readonly number[] = [],
      ): string[] => {
        return contactsOf(tenant, { fromMs, atMs: failedAtMs - startMs }, observations).filter(
          (contact) =>
            !own.some(
              ({ kind, arrival }) =>
                arrival.to === contact &&
                kinds.includes(kind) &&
                arrival.atMs >= fromMs &&
                arrival.atMs <=
                  Math.max(
                    ...[failedAtMs - startMs, ...beganMs].map((atMs) =>
                      noticeByMs(tenant, contact, atMs, observations),
                    ),
                  ),
            ),
        );
      };
      const entries = earlierHistory.filter(
        (entry) => entry.notification === notification.index && !entry.event_id.endsWith(':unreached'),
      );
      const name = `${tenant.name} ${notification.type} ${notification.key}`;
      return entries.flatMap((entry) => {
        // The stop has its own notice (`emailReportsAreNoticed`).
        if (isStopped(entry)) return [];
        const dayMs = startOfDay(entry.updated_at - TOLERANCE_MS) - startMs;
        const undelivered = entry.status === 'failed' ? uninformed(['undelivered'], entry.updated_at, dayMs) : [];
        if (undelivered.length > 0)
          return [`${entry.event_id} to ${name} failed, and ${undelivered.join(', ')} got no notice in time.`];
        const failedAtMs = failingFromMs(entry, notification);
        if (failedAtMs === undefined || !hasOneRound(observations, entry)) return [];
        if (mayHaveEndedBefore(entry, tenant.name, failedAtMs, observations)) return [];
        // The outage began after the last alert that was recorded as delivered. One that arrives next ends it.
        const atMs = failedAtMs - startMs;
        const byMs = reportedByMs(observations, { tenant: tenant.name, eventId: entry.event_id }, atMs);
        if (arrivedMs.some((timeMs) => timeMs > atMs - MINUTE_MS && timeMs <= byMs)) return [];
        const deliveredMs = entries
          .filter(({ status, updated_at }) => status === 'delivered' && updated_at <= failedAtMs)
          .map(({ updated_at }) => updated_at - startMs);
        const sinceMs = Math.max(MINUTE_MS, ...deliveredMs) - MINUTE_MS;
        // The notice of an outage that an earlier alert began may be retried, and is not repeated.
        const beganMs = entries
          .map(
            (other) =>
              failingFromMs(other, notification) ??
              (other.status === 'failed' ? other.updated_at : Number.POSITIVE_INFINITY),
          )
          .map((timeMs) => timeMs - startMs)
          .filter((timeMs) => timeMs >= sinceMs && timeMs < atMs);
        return uninformed(['failing', 'undelivered'], failedAtMs, sinceMs, beganMs)
          .filter((contact) => announcedOn(own, contact, failedAtMs, observations) < MAX_ANNOUNCED_PER_DAY)
          .map((contact) => `${entry.event_id} to ${name} was failing, and ${contact} got no notice in time.`);
      });
    };
    return scenario.tenants.flatMap((tenant) =>
      notificationsOf(tenant)
        .filter(({ type }) => type !== 'technicalContactsEmail')
        .flatMap((notification) => violationsOf(tenant, notification)),
    );
  },
};

/** Returns the name of a mailbox, which all spellings of its address share. */
const mailboxNameOf = (address: string): string | undefined => /^[^+@]*/.exec(address.toLowerCase())?.[0];

/** The technical contacts get a notice of each notification whose email was rejected, and of each stop after a report of SES. */
export const emailReportsAreNoticed: Rule = {
  name: 'email reports are noticed',
  violations(observations) {
    const { emailReports, scenario, startMs, ids } = observations;
    const notices = noticesOf(observations);
    const deliveries = plannedDeliveries(scenario);
    return emailReports
      .filter(({ of, isPermanent }) => of === 'alert' && isPermanent)
      .flatMap(({ notificationId, numbers: [number = -1], atMs, kind, to }) =>
        deliveries
          .filter(
            ({ event, notification }) => event.number === number && ids.get(notification.index) === notificationId,
          )
          .flatMap((delivery) =>
            contactsOf(delivery.tenant, { fromMs: startOfDay(startMs + atMs) - startMs, atMs }, observations)
              .filter(
                (contact) =>
                  !notices.some(
                    ({ kind: noticeKind, notification, arrival }) =>
                      arrival.to === contact &&
                      (kind === 'Reject'
                        ? notification === delivery.notification.index &&
                          startMs + arrival.atMs >= startOfDay(startMs + atMs)
                        : // An earlier report, about another spelling of the address, may have begun the stop.
                          noticeKind === 'stopped' &&
                          mailboxNameOf(/Emails to (\S+)@/.exec(arrival.text)?.[1] ?? '') ===
                            mailboxNameOf(delivery.notification.mailbox ?? to)),
                  ),
              )
              .map((contact) => `${kind} of ${nameOf(delivery)}: ${contact} got no notice.`),
          ),
      );
  },
};

/** Returns the notices of which their recipient got more than the limit for the same period, but for explained duplicates. */
export const tooManyNotices = (
  notices: readonly Notice[],
  periodMs: number,
  limit: number,
  nameOf: (notice: Notice) => string,
  observations: Observations,
): string[] =>
  [...Map.groupBy(notices, (notice) => `${notice.arrival.to} ${nameOf(notice)}`)].flatMap(([name, group]) => {
    const recorded = group.filter(({ arrival }) => !isUnrecorded(arrival, observations));
    const period = (atMs: number): number => Math.floor((observations.startMs + atMs) / periodMs);
    const periods = period(group.at(-1)?.arrival.atMs ?? 0) - period(0) + 1;
    return recorded.length > limit * periods ? [`${name}: ${recorded.length} notices in ${periods} periods.`] : [];
  });

/** No notice is repeated within its period, and none of a notification whose alerts arrived in time. */
export const noticesAreJustified: Rule = {
  name: 'notices are justified',
  violations(observations) {
    const { arrivals, scenario } = observations;
    const notices = noticesOf(observations);
    const events = new Map(
      scenario.steps.flatMap((step) => (step.kind === 'event' ? [[step.number, step] as const] : [])),
    );
    const keys = new Map(scenario.tenants.flatMap(notificationsOf).map(({ index, key }) => [index, key]));
    const early = notices.filter(({ kind, notification, arrival }) => {
      const [number = -1] = arrival.numbers;
      const event = events.get(number);
      return (
        kind === 'failing' &&
        event !== undefined &&
        arrivals.some(
          (alert) =>
            alert.kind === 'alert' &&
            alert.to === keys.get(notification ?? -1) &&
            alert.numbers.includes(number) &&
            alert.atMs < event.atMs + MIN_FAILING_MS &&
            !isUnrecorded(alert, observations),
        )
      );
    });
    return [
      ...tooManyNotices(
        notices.filter(({ kind }) => ['rejected', 'undelivered', 'limit', 'stopped'].includes(kind)),
        DAY_MS,
        1,
        ({ kind, notification, arrival: { text } }) =>
          `${kind} ${notification ?? /limit (\w+) of this day/.exec(text)?.[1] ?? /Emails to .*/.exec(text)?.[0]} ${/^Nothing is sent by email to .*/m.exec(text)?.[0]}`,
        observations,
      ),
      ...tooManyNotices(
        notices.filter(({ kind }) => kind === 'failing'),
        DAY_MS,
        MAX_ANNOUNCED_PER_DAY,
        ({ notification }) => `failing ${notification}`,
        observations,
      ),
      ...early.map(
        ({ arrival }) => `${arrival.to} got a notice of an alert that arrived: ${arrival.text.slice(0, 80)}`,
      ),
    ];
  },
};
