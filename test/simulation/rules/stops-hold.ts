import { type StopReason, stopReasons } from '../../../shared/contracts/outcomes.ts';
import type { HistoryEntry, Observations } from '../world/observations.ts';
import { notificationsOf, type PlannedTenant } from '../world/scenario.ts';
import { ACTIONS } from './changes-are-audited.ts';
import {
  isDone,
  isWithin,
  mailboxesOf,
  mayBeStopped,
  mayOverlap,
  pageRequestsOf,
  recipientsOfMailbox,
  type StopPeriod,
  stopsOf,
} from './email-stops.ts';
import { MAX_RUN_MS } from './requests.ts';
import type { Rule } from './rule.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Clocks of functions are up to 2 s off. */
const MAX_SKEW_MS = 2_000;

/** A delivery fails at most so long after its sender read the stop, without faults. */
const TOLERANCE_MS = MAX_RUN_MS + MAX_SKEW_MS;

/** How often the recipient of a mailbox can resume the emails on a UTC day. */
const MAX_RESUMES = 10;

/** Returns whether a delivery failed because the mailbox of its recipient was stopped (`stopsHold` says when that is right). */
export const isStopped = ({ status, reason }: HistoryEntry): boolean =>
  status === 'failed' && stopReasons.some((stop) => stop === reason);

/** Emails that arrived although their mailbox was stopped. Tests are sent in spite of a bounce, one per hour. */
const unwanted = (
  { emails }: Observations,
  recipients: readonly string[],
  periods: readonly StopPeriod[],
): string[] => {
  const own = emails.filter(({ to }) => recipients.includes(to));
  const isDuring = (period: StopPeriod, acceptedMs: number): boolean =>
    acceptedMs - MAX_RUN_MS > period.mustFromMs && isWithin(period, acceptedMs);
  const arrived = periods.flatMap((period) =>
    own
      .filter(({ of, acceptedMs }) => isDuring(period, acceptedMs) && (period.reason !== 'bounced' || of !== 'test'))
      .map(({ to, acceptedMs }) => {
        const { reason, mustFromMs, mustUntilMs } = period;
        return `${to} got an email at ${acceptedMs} ms, but is ${reason} from ${mustFromMs} to ${mustUntilMs} ms.`;
      }),
  );
  const tests = own.filter(({ of }) => of === 'test');
  const repeated = tests.filter(({ acceptedMs }, index) =>
    periods.some(
      (period) =>
        period.reason === 'bounced' &&
        isDuring(period, acceptedMs) &&
        tests
          .slice(0, index)
          .some((test) => isWithin(period, test.acceptedMs) && acceptedMs - test.acceptedMs < HOUR_MS - TOLERANCE_MS),
    ),
  );
  return [
    ...arrived,
    ...repeated.map(({ to, acceptedMs }) => `${to} got another test at ${acceptedMs} ms, although it is bounced.`),
  ];
};

/** Returns whether a mailbox may have been stopped for a reason, and for none that is named before it. */
const mayBeReason = (periods: readonly StopPeriod[], reason: string, atMs: number): boolean => {
  const rank = stopReasons.findIndex((stop) => stop === reason);
  const mayBe = periods.some(
    (period) => period.reason === reason && mayOverlap(period, atMs - TOLERANCE_MS, atMs + MAX_SKEW_MS),
  );
  const isOther = periods.some(
    (period) =>
      stopReasons.indexOf(period.reason) < rank &&
      isWithin(period, atMs - TOLERANCE_MS) &&
      isWithin(period, atMs + MAX_SKEW_MS),
  );
  return mayBe && !isOther;
};

/** Deliveries that failed for a stop that their recipient did not have. */
const unjustified = (tenant: PlannedTenant, observations: Observations): string[] => {
  const { earlierHistory, startMs } = observations;
  return notificationsOf(tenant).flatMap(({ type, index, key }) => {
    const recipients = type === 'technicalContactsEmail' ? tenant.contacts.map(({ address }) => address) : [key];
    return earlierHistory
      .filter((entry) => entry.notification === index && isStopped(entry))
      .filter(({ reason, updated_at }) => {
        const atMs = updated_at - startMs;
        const isRight = recipients.some((to) => mayBeReason(stopsOf(observations, to), reason ?? '', atMs));
        const areAll = recipients.every((to) =>
          mayBeStopped(observations, to, atMs - TOLERANCE_MS, atMs + MAX_SKEW_MS),
        );
        return !isRight || !areAll;
      })
      .map(({ event_id, reason }) => `${event_id} failed as ${reason}, although ${key} has no such stop.`);
  });
};

/** How often an action is certainly audited, and how often it may be. */
type Range = { min: number; max: number };

/** Returns how often the recipient of a mailbox stopped emails that were not stopped, or resumed those that were. */
const changesOf = (
  observations: Observations,
  kind: 'opt-out' | 'undo-opt-out',
  recipients: readonly string[],
): Range => {
  const periods = stopsOf(observations, recipients[0] ?? '');
  const reasons: readonly StopReason[] = kind === 'opt-out' ? ['opted_out'] : ['opted_out', 'complained'];
  const stops = periods.filter(({ reason }) => reasons.includes(reason));
  const requests = pageRequestsOf(observations, kind, recipients);
  const certain = requests.filter((request) => {
    const { startedMs, endedMs } = request;
    const before = stops.filter(({ fromMs }) => fromMs < startedMs);
    return (
      isDone(request) &&
      (kind === 'opt-out'
        ? !before.some((period) => mayOverlap(period, startedMs, endedMs))
        : before.some(({ mustFromMs, mustUntilMs }) => mustFromMs <= startedMs && mustUntilMs === startedMs))
    );
  });
  return { min: certain.length, max: requests.length };
};

/** Changes by recipients that have no audit entry, or several. */
const unaudited = (tenant: PlannedTenant, observations: Observations): string[] =>
  (['opt-out', 'undo-opt-out'] as const).flatMap((action) => {
    const ranges = mailboxesOf(tenant).map((key) => changesOf(observations, action, recipientsOfMailbox(tenant, key)));
    const [min, max] = [
      ranges.reduce((sum, range) => sum + range.min, 0),
      ranges.reduce((sum, range) => sum + range.max, 0),
    ];
    const entries = observations.audits.filter(
      (entry) => entry.tenant === tenant.name && entry.action === ACTIONS[action],
    ).length;
    return entries < min || entries > max
      ? [`${tenant.name} has ${entries} audit entries of ${action}, not ${min} to ${max}.`]
      : [];
  });

/** Mailboxes whose emails were resumed too often on a day. */
const resumedTooOften = (observations: Observations, recipients: readonly string[]): string[] => {
  const periods = stopsOf(observations, recipients[0] ?? '');
  const resumed = pageRequestsOf(observations, 'undo-opt-out', recipients).filter(
    (request) =>
      isDone(request) &&
      periods.some(
        ({ mustFromMs, mustUntilMs }) => mustFromMs <= request.startedMs && mustUntilMs === request.startedMs,
      ),
  );
  const days = Map.groupBy(resumed, ({ startedMs }) => Math.floor((observations.startMs + startedMs) / DAY_MS));
  return [...days.values()]
    .filter(({ length }) => length > MAX_RESUMES)
    .map(({ length }) => `${recipients[0]} resumed emails ${length} times on a day.`);
};

/**
 * While a mailbox is stopped, by its recipient, a complaint or a bounce, no email of the tenant arrives, and deliveries fail
 * for that reason, and only then. Each change by a recipient has one audit entry.
 */
export const stopsHold: Rule = {
  name: 'stops hold',
  violations: (observations) =>
    observations.scenario.tenants.flatMap((tenant) => [
      ...mailboxesOf(tenant).flatMap((key) => {
        const recipients = recipientsOfMailbox(tenant, key);
        return [
          ...unwanted(observations, recipients, stopsOf(observations, key)),
          ...resumedTooOften(observations, recipients),
        ];
      }),
      ...unjustified(tenant, observations),
      ...unaudited(tenant, observations),
    ]),
};
