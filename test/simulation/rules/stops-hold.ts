import { stopReasons } from '../../../shared/contracts/outcomes.ts';
import type { HistoryEntry, Observations, PersonRequest } from '../world/observations.ts';
import { MAX_SKEW_MS, notificationsOf, type PlannedTenant } from '../world/scenario.ts';
import { ACTIONS } from './changes-are-audited.ts';
import {
  isDone,
  isEffective,
  isWithin,
  mailboxesOf,
  mayBeStopped,
  mayOverlap,
  pageRequestsOf,
  recipientsOfMailbox,
  type StopPeriod,
  stopsOf,
} from './email-stops.ts';
import { areFunctionsCalm, MAX_RUN_MS } from './requests.ts';
import type { Rule } from './rule.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** A delivery fails at most so long after its sender read the stop, without faults. */
const TOLERANCE_MS = MAX_RUN_MS + MAX_SKEW_MS;

/** In the order of their precedence. */
const REASONS: readonly string[] = stopReasons;

/** How often the recipient of a mailbox can resume the emails on a UTC day. */
const MAX_RESUMES = 10;

const sentMs = (sent: { acceptedMs: number } | { atMs: number }): number =>
  'acceptedMs' in sent ? sent.acceptedMs : sent.atMs;

/** Returns whether a delivery failed because the mailbox of its recipient was stopped (`stopsHold` says when that is right). */
export const isStopped = ({ status, reason }: HistoryEntry): boolean =>
  status === 'failed' && REASONS.includes(reason ?? '');

/** Emails that were sent although their mailbox was stopped. Tests are sent in spite of a bounce, one per hour. */
const unwanted = (
  { emails, refusals }: Observations,
  recipients: readonly string[],
  periods: readonly StopPeriod[],
): string[] => {
  const own = [
    ...emails.map(({ to, of, acceptedMs }) => ({ to, of, atMs: acceptedMs, isAccepted: true })),
    ...refusals.map(({ to, kind: of, atMs }) => ({ to, of, atMs, isAccepted: false })),
  ]
    .filter(({ to }) => recipients.includes(to))
    .toSorted((one, other) => one.atMs - other.atMs);
  const isDuring = (period: StopPeriod, atMs: number): boolean =>
    atMs - MAX_RUN_MS > period.mustFromMs && isWithin(period, atMs);
  const sent = periods.flatMap((period) =>
    own
      .filter(({ of, atMs }) => isDuring(period, atMs) && (period.reason !== 'bounced' || of !== 'test'))
      .map(({ to, atMs }) => {
        const { reason, mustFromMs, mustUntilMs } = period;
        return `${to} was sent an email at ${atMs} ms, but is ${reason} from ${mustFromMs} to ${mustUntilMs} ms.`;
      }),
  );
  const tests = own.filter(({ of }) => of === 'test');
  const repeated = tests.filter(({ atMs }, index) =>
    periods.some(
      (period) =>
        period.reason === 'bounced' &&
        isDuring(period, atMs) &&
        // The SDK sends a request again.
        tests
          .slice(0, index)
          .some(
            (test) =>
              test.isAccepted &&
              isWithin(period, test.atMs) &&
              atMs - test.atMs > MAX_RUN_MS &&
              atMs - test.atMs < HOUR_MS - TOLERANCE_MS,
          ),
    ),
  );
  return [
    ...sent,
    ...repeated.map(({ to, atMs }) => `${to} was sent another test at ${atMs} ms, although it is bounced.`),
  ];
};

/** Tests that were not sent to a bounced address, although they were the first of an hour. */
const missingTests = (tenant: PlannedTenant, observations: Observations): string[] =>
  notificationsOf(tenant).flatMap(({ type, index, key }) => {
    const tests = observations.people.filter(({ action }) => action.kind === 'test' && action.notification === index);
    return tests
      .filter(({ startedMs, endedMs, responses }, position) => {
        const periods = stopsOf(observations, key).filter((period) => mayOverlap(period, startedMs, endedMs));
        const [period] = periods;
        const isBounced = period?.reason === 'bounced' && isWithin(period, startedMs) && isWithin(period, endedMs);
        return (
          type === 'email' &&
          periods.length === 1 &&
          isBounced &&
          tests
            .slice(0, position)
            .every((test) => test.endedMs < Math.max(period.fromMs, startedMs - HOUR_MS - TOLERANCE_MS)) &&
          responses.at(-1)?.status === 200 &&
          !responses.some(({ body }) => body.includes('limit of')) &&
          areFunctionsCalm(observations, /^(test-notification|send-email)#/, startedMs, endedMs) &&
          ![...observations.emails, ...observations.refusals].some(
            (sent) => sent.to === key && startedMs <= sentMs(sent) && sentMs(sent) <= endedMs,
          )
        );
      })
      .map(({ startedMs }) => `${key} got no test at ${startedMs} ms, the first one of an hour after it bounced.`);
  });

/** Returns whether a mailbox may have been stopped for a reason, and for none that is named before it. */
const mayBeReason = (periods: readonly StopPeriod[], reason: string, atMs: number): boolean => {
  const rank = REASONS.indexOf(reason);
  const mayBe = periods.some(
    (period) => period.reason === reason && mayOverlap(period, atMs - TOLERANCE_MS, atMs + MAX_SKEW_MS),
  );
  const isOther = periods.some(
    (period) =>
      REASONS.indexOf(period.reason) < rank &&
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

/** Returns the requests that certainly resumed the emails to a mailbox. */
const resumesOf = (observations: Observations, recipients: readonly string[]): PersonRequest[] => {
  const periods = stopsOf(observations, recipients[0] ?? '');
  return pageRequestsOf(observations, 'undo-opt-out', recipients).filter((request) =>
    isEffective({ startedMs: request.startedMs, isDone: isDone(request) }, periods),
  );
};

/** Returns how often the recipient of a mailbox stopped emails that were not stopped, or resumed those that were. */
const changesOf = (
  observations: Observations,
  kind: 'opt-out' | 'undo-opt-out',
  recipients: readonly string[],
): Range => {
  const requests = pageRequestsOf(observations, kind, recipients);
  if (kind === 'undo-opt-out') return { min: resumesOf(observations, recipients).length, max: requests.length };
  const stops = stopsOf(observations, recipients[0] ?? '').filter(({ reason }) => reason === 'opted_out');
  const certain = requests.filter((request) => {
    const { startedMs, endedMs } = request;
    return (
      isDone(request) && !stops.some((period) => period.fromMs < startedMs && mayOverlap(period, startedMs, endedMs))
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
  const resumed = resumesOf(observations, recipients);
  const days = Map.groupBy(resumed, ({ startedMs }) => Math.floor((observations.startMs + startedMs) / DAY_MS));
  return [...days.values()]
    .filter(({ length }) => length > MAX_RESUMES)
    .map(({ length }) => `${recipients[0]} resumed emails ${length} times on a day.`);
};

/**
 * While a mailbox is stopped, by its recipient, a complaint or a bounce, no email of the tenant is sent, and deliveries fail
 * for that reason, and only then. The first test of an hour is sent in spite of a bounce. Each change by a recipient has one audit entry.
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
      ...missingTests(tenant, observations),
      ...unjustified(tenant, observations),
      ...unaudited(tenant, observations),
    ]),
};
