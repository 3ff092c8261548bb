import type { StopReason } from '../../../shared/contracts/outcomes.ts';
import type { Observations, PersonRequest } from '../world/observations.ts';
import { MAX_SKEW_MS, notificationsOf, type PlannedTenant } from '../world/scenario.ts';
import { areFunctionsCalm, MAX_RUN_MS } from './requests.ts';

/*
 * When the emails of a tenant to a mailbox were stopped, from what people did, what SES rejected and what it reported. All
 * times are ms since the start.
 */

const DAY_MS = 86_400_000;
const FIRST_BOUNCE_MS = DAY_MS;
const REPEATED_BOUNCE_MS = 7 * DAY_MS;

/** An event of SES waits for a batch, and its queue may deliver it again. */
const MAX_EVENT_MS = 120_000;

/** A stop. It begins between `fromMs` and `mustFromMs`, and ends between `mustUntilMs` and `untilMs`. */
export type StopPeriod = {
  reason: StopReason;
  fromMs: number;
  mustFromMs: number;
  mustUntilMs: number;
  untilMs: number;
};

/** What may stop a mailbox: a request of its recipient, or the end of an email that was sent at `sentMs`. */
type Cause = { fromMs: number; untilMs: number; sentMs: number; isCertain: boolean };

/** A request that may end the stops by the recipient. */
type Resume = { startedMs: number; endedMs: number; isDone: boolean };

/** When an email that was sent in spite of a bounce was delivered, if it was one. */
type Probe = { acceptedMs: number; fromMs: number; untilMs: number };

/** Returns whether a mailbox was certainly stopped at a time. */
export const isWithin = ({ mustFromMs, mustUntilMs }: StopPeriod, atMs: number): boolean =>
  mustFromMs < atMs && atMs < mustUntilMs;

/** Returns whether a mailbox may have been stopped at some time of a period. */
export const mayOverlap = (period: StopPeriod, fromMs: number, untilMs: number): boolean =>
  period.fromMs <= untilMs && fromMs <= period.untilMs;

/** Returns the keys of the recipients of a mailbox of a tenant, as in `Arrival`. */
export const recipientsOfMailbox = (tenant: PlannedTenant, key: string): string[] => {
  const own = notificationsOf(tenant).filter((each) => (each.mailbox ?? each.key) === key);
  return own.length > 0 ? own.map((each) => each.key) : [key];
};

/** Returns the keys of the mailboxes to which a tenant sends emails. */
export const mailboxesOf = (tenant: PlannedTenant): string[] => [
  ...new Set([
    ...notificationsOf(tenant).flatMap(({ type, key, mailbox }) => (type === 'email' ? (mailbox ?? key) : [])),
    ...tenant.contacts.map(({ address }) => address),
  ]),
];

/** Returns what recipients asked on the page, in order. */
export const pageRequestsOf = (
  { people }: Observations,
  kind: 'opt-out' | 'undo-opt-out',
  recipients: readonly string[],
): PersonRequest[] => people.filter(({ action }) => action.kind === kind && recipients.includes(action.to));

/** Returns whether the last response of a request says that it was carried out. */
export const isDone = ({ responses }: PersonRequest): boolean => responses.at(-1)?.status === 200;

/** Returns the end of a stop by the recipient, which resuming ends. */
const endedByResume = (reason: StopReason, cause: Cause, resumes: readonly Resume[]): StopPeriod => {
  const possible = resumes.filter(({ endedMs }) => endedMs >= cause.fromMs);
  const certain = possible.find(({ startedMs, isDone }) => isDone && startedMs >= cause.untilMs);
  return {
    reason,
    fromMs: cause.fromMs,
    mustFromMs: cause.isCertain ? cause.untilMs : Number.POSITIVE_INFINITY,
    mustUntilMs: Math.min(...possible.map(({ startedMs }) => startedMs)),
    untilMs: certain?.endedMs ?? Number.POSITIVE_INFINITY,
  };
};

/** Returns whether a request certainly resumed emails: their recipient had stopped them, and nothing ended that before. */
export const isEffective = (
  { startedMs, isDone }: Pick<Resume, 'startedMs' | 'isDone'>,
  periods: readonly StopPeriod[],
): boolean =>
  isDone &&
  periods.some(
    ({ reason, mustFromMs, mustUntilMs }) =>
      reason !== 'bounced' && mustFromMs <= startedMs && mustUntilMs === startedMs,
  );

/**
 * Returns what is known of the effect of a cause after the stops that began before: none, because its email was sent before
 * one of them ended, or perhaps none, so that it is not certain.
 */
const afterEarlierStops = (
  cause: Cause,
  periods: readonly StopPeriod[],
  resumes: readonly Resume[],
): Cause | undefined => {
  const { sentMs, fromMs, untilMs } = cause;
  const bounces = periods.filter(({ reason }) => reason === 'bounced');
  const isOld =
    resumes.some(
      (resume) =>
        isEffective(resume, periods) &&
        sentMs < resume.startedMs - MAX_SKEW_MS &&
        resume.endedMs + MAX_SKEW_MS < fromMs,
    ) ||
    bounces.some(
      (stop) =>
        stop.mustFromMs < stop.mustUntilMs &&
        sentMs < stop.mustUntilMs - MAX_SKEW_MS &&
        stop.untilMs + MAX_SKEW_MS < fromMs,
    );
  if (isOld) return undefined;
  const mayBeOld =
    resumes.some((resume) => sentMs <= resume.endedMs + MAX_SKEW_MS && resume.startedMs - MAX_SKEW_MS <= untilMs) ||
    bounces.some(
      (stop) =>
        sentMs <= stop.untilMs + MAX_SKEW_MS && Math.min(stop.mustUntilMs, stop.untilMs) - MAX_SKEW_MS <= untilMs,
    );
  return mayBeOld ? { ...cause, isCertain: false } : cause;
};

/** Returns a stop that ends after a time, or when an email that was sent in spite of it was delivered. */
const bouncedPeriod = (
  causes: readonly Cause[],
  [minMs, maxMs]: readonly [number, number],
  probes: readonly Probe[],
): StopPeriod => {
  const [first] = causes;
  const fromMs = first?.fromMs ?? 0;
  const certain = causes.find(({ isCertain }) => isCertain);
  const beginsUntilMs = certain?.untilMs ?? Math.max(...causes.map(({ untilMs }) => untilMs));
  const mustFromMs = certain?.untilMs ?? Number.POSITIVE_INFINITY;
  const lastMs = beginsUntilMs + maxMs + MAX_SKEW_MS;
  const own = probes.filter(({ acceptedMs }) => acceptedMs >= fromMs && acceptedMs <= lastMs);
  const ending = own.filter(({ acceptedMs }) => acceptedMs > mustFromMs);
  return {
    reason: 'bounced',
    fromMs,
    mustFromMs,
    mustUntilMs: Math.min(fromMs + minMs - MAX_SKEW_MS, ...own.map((probe) => probe.fromMs)),
    untilMs: Math.min(lastMs, ...ending.map(({ untilMs }) => untilMs)),
  };
};

/** Returns the stops because of bounces. The causes are in order. */
const bouncedPeriods = (
  causes: readonly Cause[],
  probes: readonly Probe[],
  others: readonly StopPeriod[],
  resumes: readonly Resume[],
): StopPeriod[] => {
  const periods: StopPeriod[] = [];
  let current: Cause[] = [];
  let lengths: readonly [number, number] = [FIRST_BOUNCE_MS, FIRST_BOUNCE_MS];
  for (const cause of causes) {
    const last = periods.at(-1);
    const known = afterEarlierStops(cause, [...others, ...periods.slice(0, -1)], resumes);
    if (!known) continue;
    if (last && known.fromMs < last.mustUntilMs) {
      current.push(known);
      periods.splice(-1, 1, bouncedPeriod(current, lengths, probes));
      continue;
    }
    const after = last ? afterEarlierStops(known, [last], []) : known;
    if (!after) continue;
    const wasStopped = last && last.mustFromMs < last.mustUntilMs;
    lengths = [
      wasStopped && after.isCertain ? REPEATED_BOUNCE_MS : FIRST_BOUNCE_MS,
      last ? REPEATED_BOUNCE_MS : FIRST_BOUNCE_MS,
    ];
    current = [after];
    periods.push(bouncedPeriod(current, lengths, probes));
  }
  return periods;
};

const byTime = (one: Cause, other: Cause): number => one.fromMs - other.fromMs;

/** Returns the causes of a kind that SES reports. */
const reportedCauses = (
  observations: Observations,
  kind: 'Bounce' | 'Complaint',
  recipients: readonly string[],
): Cause[] =>
  observations.emailReports
    .filter((report) => recipients.includes(report.to) && report.kind === kind && report.isPermanent)
    .flatMap(({ atMs, repeatedMs, acceptedMs: sentMs }) =>
      [atMs, ...(repeatedMs === undefined ? [] : [repeatedMs])].map((fromMs): Cause => {
        const isCertain = areFunctionsCalm(observations, /^record-email-events#/, fromMs, fromMs + MAX_EVENT_MS);
        return { fromMs, untilMs: isCertain ? fromMs + MAX_EVENT_MS : Number.POSITIVE_INFINITY, sentMs, isCertain };
      }),
    );

const rejectedCauses = (observations: Observations, recipients: readonly string[]): Cause[] =>
  observations.refusals
    .filter(({ to, behavior }) => recipients.includes(to) && behavior === 'reject')
    .map(({ atMs, by }) => ({
      fromMs: atMs - MAX_SKEW_MS,
      untilMs: atMs + MAX_RUN_MS,
      sentMs: atMs,
      // The sender tries once to store the stop.
      isCertain: areFunctionsCalm(observations, new RegExp(`^${by}$`), atMs, atMs + MAX_RUN_MS),
    }));

const probesOf = (observations: Observations, recipients: readonly string[]): Probe[] =>
  observations.emailProgress
    .filter(({ to, of, kind }) => recipients.includes(to) && of === 'test' && kind === 'confirmed')
    .map(({ acceptedMs, sentMs }) => {
      const [fromMs, lastMs] = [Math.min(...sentMs), Math.max(...sentMs) + MAX_EVENT_MS];
      const isCalm = areFunctionsCalm(observations, /^record-email-events#/, fromMs, lastMs);
      return { acceptedMs, fromMs, untilMs: isCalm ? fromMs + MAX_EVENT_MS : Number.POSITIVE_INFINITY };
    });

const findPeriods = (observations: Observations, recipients: readonly string[]): StopPeriod[] => {
  const resumes = pageRequestsOf(observations, 'undo-opt-out', recipients).map((request) => ({
    startedMs: request.startedMs,
    endedMs: request.endedMs + (isDone(request) ? 0 : MAX_RUN_MS),
    isDone: isDone(request),
  }));
  const optedOut = pageRequestsOf(observations, 'opt-out', recipients).map((request) => {
    const cause = {
      fromMs: request.startedMs,
      untilMs: request.endedMs + (isDone(request) ? 0 : MAX_RUN_MS),
      sentMs: request.startedMs,
      isCertain: isDone(request),
    };
    return endedByResume('opted_out', cause, resumes);
  });
  const bounces = [...reportedCauses(observations, 'Bounce', recipients), ...rejectedCauses(observations, recipients)];
  const bounced = bouncedPeriods(bounces.toSorted(byTime), probesOf(observations, recipients), optedOut, resumes);
  const complained: StopPeriod[] = [];
  for (const cause of reportedCauses(observations, 'Complaint', recipients).toSorted(byTime)) {
    const known = afterEarlierStops(cause, [...optedOut, ...bounced, ...complained], resumes);
    if (known) complained.push(endedByResume('complained', known, resumes));
  }
  return [...optedOut, ...complained, ...bounced];
};

const found = new WeakMap<Observations, Map<string, StopPeriod[]>>();

/** Returns when the emails of its tenant to the mailbox of a recipient were stopped. `to` is as in `Arrival`; others have none. */
export const stopsOf = (observations: Observations, to: string): StopPeriod[] => {
  const ofRun = found.get(observations) ?? new Map<string, StopPeriod[]>();
  found.set(observations, ofRun);
  const known = ofRun.get(to);
  if (known) return known;
  const tenant = observations.scenario.tenants.find(
    (each) =>
      notificationsOf(each).some(({ key }) => key === to) || each.contacts.some(({ address }) => address === to),
  );
  const mailbox = tenant && (notificationsOf(tenant).find(({ key }) => key === to)?.mailbox ?? to);
  const isMailbox = tenant && mailbox !== undefined && mailboxesOf(tenant).includes(mailbox);
  const periods = isMailbox ? findPeriods(observations, recipientsOfMailbox(tenant, mailbox)) : [];
  ofRun.set(to, periods);
  return periods;
};

/** Functions read an account at most so long after it was read last. */
const MAX_CACHED_MS = 65_000;

/** Returns whether a recipient may have been no contact of an account at some time of a period. */
const mayBeRemoved = (observations: Observations, to: string, fromMs: number, untilMs: number): boolean => {
  const { scenario, people } = observations;
  const tenant = scenario.tenants.find(({ contacts }) => contacts.some(({ address }) => address === to));
  const changes = people.filter(({ action }) => action.kind === 'contacts' && action.tenant === tenant?.name);
  return changes.some(({ action, startedMs }, index) => {
    const next = changes.slice(index + 1).find(isDone);
    const isRemoved = action.kind === 'contacts' && !action.addresses.includes(to);
    return isRemoved && startedMs <= untilMs && fromMs <= (next?.endedMs ?? Number.POSITIVE_INFINITY) + MAX_CACHED_MS;
  });
};

/** Returns whether a recipient may have got no emails at some time of a period: the mailbox was stopped, or removed. */
export const mayBeStopped = (observations: Observations, to: string, fromMs: number, untilMs: number): boolean =>
  mayBeRemoved(observations, to, fromMs, untilMs) ||
  stopsOf(observations, to).some((period) => mayOverlap(period, fromMs, untilMs));
