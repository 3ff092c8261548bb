import type { HistoryEntry, Observations, PersonRequest } from '../world/observations.ts';
import { MAX_RUN_MS } from './requests.ts';
import type { Rule } from './rule.ts';

/** Returns whether a delivery failed because its recipient had opted out (`optOutsHold` says when that is right). */
export const isOptedOut = ({ status, reason }: HistoryEntry): boolean => status === 'failed' && reason === 'opted_out';

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
 * After a recipient opted out, no email of the tenant arrives but the last one, of which there is one for each opt-out that
 * was undone, and deliveries fail for that reason, and only meanwhile. Each change has one audit entry.
 */
export const optOutsHold: Rule = {
  name: 'opt-outs hold',
  violations(observations) {
    const { scenario, arrivals, earlierHistory, audits, startMs } = observations;
    const emails = scenario.tenants.flatMap(({ name, notifications }) =>
      notifications.filter(({ type }) => type === 'email').map(({ index, key }) => ({ name, index, key })),
    );
    return emails.flatMap(({ name, index, key }) => {
      const periods = periodsOf(observations, index);
      const own = arrivals.filter(({ to }) => to === key);
      const lastEmails = own.filter(({ kind }) => kind === 'last-email').length;
      const stopped = requestsOf(observations, 'opt-out', index);
      const undone = requestsOf(observations, 'undo-opt-out', index).filter((undo) =>
        stopped.some(({ endedMs }) => endedMs > undo.startedMs),
      );
      const isWithin = (atMs: number): boolean =>
        periods.some(({ fromMs, untilMs }) => fromMs + MAX_RUN_MS < atMs && atMs < untilMs);
      const mayBeWithin = (atMs: number): boolean =>
        periods.some(({ sinceMs, endedMs }) => sinceMs <= atMs && atMs <= endedMs + MAX_RUN_MS);
      const audited = (action: string): number =>
        audits.filter((entry) => entry.tenant === name && entry.action === action).length;
      return [
        ...own
          .filter(({ kind, atMs }) => kind !== 'last-email' && isWithin(atMs))
          .map(({ atMs }) => `${key} got an email at ${atMs} ms, although it has opted out.`),
        ...earlierHistory
          .filter((entry) => entry.notification === index && isOptedOut(entry))
          .filter((entry) => !mayBeWithin(entry.updated_at - startMs))
          .map(({ event_id }) => `${event_id} failed as opted out, although ${key} has not.`),
        ...(lastEmails > Math.min(periods.length, undone.length + 1) ? [`${key} got ${lastEmails} last emails.`] : []),
        ...(periods.some(({ fromMs }) => Number.isFinite(fromMs)) && audited('opt-out') === 0
          ? [`The opt-out of ${key} has no audit entry.`]
          : []),
        ...(audited('undo-opt-out') > audited('opt-out')
          ? [`${name} has more audit entries of undos than of opt-outs.`]
          : []),
      ];
    });
  },
};
