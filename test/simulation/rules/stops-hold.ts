import { stopReasons } from '../../../shared/contracts/outcomes.ts';
import type { HistoryEntry, Observations, PersonRequest } from '../world/observations.ts';
import { areFunctionsCalm, MAX_RUN_MS } from './requests.ts';
import type { Rule } from './rule.ts';

const DAY_MS = 86_400_000;

/** An event of SES waits for a batch, and its queue may deliver it again. */
const MAX_EVENT_MS = 120_000;

/** Clocks differ by 2 s. */
const TOLERANCE_MS = 5_000;

/** Returns whether a delivery failed because the mailbox of its recipient was stopped (`stopsHold` says when that is right). */
export const isStopped = ({ status, reason }: HistoryEntry): boolean =>
  status === 'failed' && stopReasons.some((stop) => stop === reason);

/** Returns what may have stopped an address, ms since the start: bounces, complaints and rejections. */
const causesOf = ({ emailReports, refusals }: Observations, to: string): { kind: string; atMs: number }[] => [
  ...emailReports
    .filter((report) => report.to === to && report.isPermanent && report.kind !== 'Reject')
    .map(({ kind, atMs }) => ({ kind, atMs })),
  ...refusals
    .filter((refusal) => refusal.to === to && refusal.behavior === 'reject')
    .map(({ atMs }) => ({ kind: 'Bounce', atMs })),
];

/** Returns whether a bounce, a complaint or a rejection may have stopped an address at some time. */
export const mayHaveBeenStopped = (observations: Observations, to: string): boolean =>
  causesOf(observations, to).length > 0;

/** From when until when a recipient gets no emails, ms since the start. `sinceMs` is when the request was sent. */
type Period = { sinceMs: number; fromMs: number; untilMs: number; endedMs: number };

const isDone = ({ responses }: PersonRequest): boolean => responses.at(-1)?.status === 200;

const requestsOf = ({ people }: Observations, kind: 'opt-out' | 'undo-opt-out', notification: number) =>
  people.filter(({ action }) => action.kind === kind && action.notification === notification);

const periodsOf = (observations: Observations, notification: number): Period[] => {
  const undone = requestsOf(observations, 'undo-opt-out', notification);
  return requestsOf(observations, 'opt-out', notification).map((optOut) => {
    const undo = undone.find(({ startedMs }) => startedMs >= optOut.startedMs);
    return {
      sinceMs: optOut.startedMs,
      fromMs: isDone(optOut) ? optOut.endedMs : Number.POSITIVE_INFINITY,
      untilMs: undo?.startedMs ?? Number.POSITIVE_INFINITY,
      endedMs: undo && isDone(undo) ? undo.endedMs : Number.POSITIVE_INFINITY,
    };
  });
};

/**
 * Returns from when until when the first bounce or complaint certainly stops an address, ms since the start, or undefined:
 * until something may end the stop.
 */
const certainStop = (observations: Observations, index: number, to: string) => {
  const { emailReports, emails } = observations;
  const [first] = emailReports
    .filter((report) => report.to === to && report.isPermanent && report.kind !== 'Reject')
    .toSorted((one, other) => one.atMs - other.atMs);
  const resumedMs = requestsOf(observations, 'undo-opt-out', index).map(({ startedMs }) => startedMs);
  if (!first || resumedMs.some((startedMs) => startedMs <= first.atMs + MAX_EVENT_MS)) return undefined;
  const fromMs = first.atMs + MAX_EVENT_MS;
  if (!areFunctionsCalm(observations, /^record-email-events#/, first.atMs, fromMs)) return undefined;
  const testedMs = emails.filter((email) => email.to === to && email.of === 'test').map(({ acceptedMs }) => acceptedMs);
  return {
    fromMs,
    untilMs: Math.min(first.atMs + DAY_MS, ...[...resumedMs, ...testedMs].filter((ms) => ms > first.atMs)),
  };
};

/**
 * After a recipient opted out, an email bounced or caused a complaint, no email of the tenant arrives, and deliveries fail
 * for that reason, and only meanwhile. Each change by a recipient has one audit entry.
 */
export const stopsHold: Rule = {
  name: 'stops hold',
  violations(observations) {
    const { scenario, emails, earlierHistory, audits, startMs } = observations;
    const notifications = scenario.tenants.flatMap(({ name, notifications: own }) =>
      own.filter(({ type }) => type === 'email').map(({ index, key }) => ({ name, index, key })),
    );
    return notifications.flatMap(({ name, index, key }) => {
      const periods = periodsOf(observations, index);
      const own = emails.filter(({ to }) => to === key);
      const stop = certainStop(observations, index, key);
      const causes = causesOf(observations, key);
      const isWithin = (atMs: number): boolean =>
        periods.some(({ fromMs, untilMs }) => fromMs + MAX_RUN_MS < atMs && atMs < untilMs);
      const mayBeWithin = (atMs: number): boolean =>
        periods.some(({ sinceMs, endedMs }) => sinceMs <= atMs && atMs <= endedMs + MAX_RUN_MS);
      const isJustified = ({ reason, updated_at }: HistoryEntry): boolean => {
        const atMs = updated_at - startMs + TOLERANCE_MS;
        if (reason === 'opted_out') return mayBeWithin(atMs - TOLERANCE_MS);
        const kind = reason === 'complained' ? 'Complaint' : 'Bounce';
        return causes.some((cause) => cause.kind === kind && cause.atMs <= atMs);
      };
      const audited = (action: string): number =>
        audits.filter((entry) => entry.tenant === name && entry.action === action).length;
      return [
        ...own
          .filter(({ acceptedMs }) => isWithin(acceptedMs))
          .map(({ acceptedMs }) => `${key} got an email at ${acceptedMs} ms, although it has opted out.`),
        ...own
          .filter(
            ({ of, acceptedMs }) => of !== 'test' && stop && stop.fromMs < acceptedMs && acceptedMs < stop.untilMs,
          )
          .map(({ acceptedMs }) => `${key} got an email at ${acceptedMs} ms, although it is stopped.`),
        ...earlierHistory
          .filter((entry) => entry.notification === index && isStopped(entry) && !isJustified(entry))
          .map(({ event_id, reason }) => `${event_id} failed as ${reason}, although ${key} has no such stop.`),
        ...(periods.some(({ fromMs }) => Number.isFinite(fromMs)) && audited('opt-out') === 0
          ? [`The opt-out of ${key} has no audit entry.`]
          : []),
        ...(audited('resume-email') > audited('opt-out') + causes.length
          ? [`${name} has more audit entries of resumes than of stops.`]
          : []),
      ];
    });
  },
};
