import type { InboxMessage } from '../../bin/local/inbox/inbox.ts';
import type { DeliveryRecord } from '../../shared/domain/delivery-record.ts';
import { summaryCountIn } from './inbox.ts';
import type { StoredState } from './observations.ts';
import type { ChaosTarget } from './targets.ts';

/** The delivered summaries of a run, and those of them of which no message arrived with their number of alarms. */
export type SummaryCounts = { summaries: number; missingSummaries: number };

/** Returns the numbers of alarms in the summaries that each recipient received. */
const arrivedCounts = (inbox: readonly InboxMessage[]): ReadonlyMap<string, number[]> => {
  const arrived = inbox.flatMap((message) => {
    const count = summaryCountIn(message);
    if (count === undefined || !('to' in message)) return [];
    return [message.to].flat().map((recipient) => ({ recipient, count }));
  });
  const groups = Map.groupBy(arrived, ({ recipient }) => recipient);
  return new Map([...groups].map(([recipient, group]) => [recipient, group.map(({ count }) => count)]));
};

/**
 * Compares the records of summaries with the inbox, because a record alone does not prove that a message was sent.
 *
 * @param targets the notifications, whose key is their recipient
 */
export const countSummaries = (
  inbox: readonly InboxMessage[],
  targets: readonly ChaosTarget[],
  { records }: Pick<StoredState, 'records'>,
): SummaryCounts => {
  const arrived = arrivedCounts(inbox);
  const summariesOf = ({ id, tenant }: ChaosTarget): DeliveryRecord[] =>
    [...records.values()].filter(
      ({ pk, notice, status }) =>
        notice === 'summary' && status === 'delivered' && pk.includes(id) && pk.endsWith(`#${tenant}`),
    );
  const all = targets.flatMap((target) =>
    summariesOf(target).map((summary) => ({ summary, counts: arrived.get(target.key) ?? [] })),
  );
  const missing = all.filter(({ summary, counts }) => {
    const index = counts.indexOf(summary.alarm_count ?? Number.NaN);
    if (index >= 0) counts.splice(index, 1);
    return index < 0;
  });
  return { summaries: all.length, missingSummaries: missing.length };
};
