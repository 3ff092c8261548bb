import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import type { AccountRepository } from '../../adapters/accounts/account-repository.ts';
import type { EmailStops } from '../../adapters/accounts/email-stops.ts';
import { createCounters, dailyCounter } from '../../adapters/dynamodb/counters.ts';
import type { EmailStop, Recipient } from '../../domain/email-stop.ts';
import { DAY_MS } from '../../domain/time.ts';
import type { ParsedEnvironment } from '../../environment.ts';
import type { NoticeQueue } from './notice-queue.ts';
import { MAX_STOP_NOTICES_PER_DAY, noticeTable } from './notice-table.ts';

export type StopNoticeDependencies = {
  client: DynamoDBDocumentClient;
  notices: NoticeQueue;
  accounts: Pick<AccountRepository, 'technicalContacts' | 'isEmailOff'>;
  stops: Pick<EmailStops, 'find'>;
};

/**
 * Queues the notice of a stop (docs/decisions/notices.md#stops): to the technical contacts that are not stopped, or to
 * the operators if none remains. The caller has written the stop: if the last contacts are stopped at the same time,
 * one of the calls finds none.
 */
export const createStopNotices = (
  { client, notices, accounts, stops }: StopNoticeDependencies,
  { ACCOUNTS_TABLE }: Pick<ParsedEnvironment<'report-deliveries'>, 'ACCOUNTS_TABLE'>,
) => {
  const counters = createCounters(client, ACCOUNTS_TABLE);

  const hasReachableContact = async (tenant: string): Promise<boolean> => {
    if (await accounts.isEmailOff(tenant)) return false;
    for (const address of await accounts.technicalContacts(tenant))
      if (!(await stops.find({ tenant, address }))) return true;
    return false;
  };

  /** Repeating it within a day of the start has no effect. The message that SQS accepted may wait longer. */
  return async (recipient: Recipient, stop: EmailStop, reportedAtMs: number): Promise<void> => {
    const { tenant } = recipient;
    const { sinceMs } = stop;
    const notice = noticeTable.stopped(recipient, stop);
    const id = notice.event.event_id;
    // A record of the notice makes a repetition a duplicate, but is not kept as long as a stop.
    if (reportedAtMs - sinceMs > DAY_MS || notices.isQueued(id)) return;
    const isListed = await counters.takeOnce(dailyCounter('stops', tenant, sinceMs), id, MAX_STOP_NOTICES_PER_DAY);
    const queued = isListed ? notice : noticeTable.stopLimit(tenant, sinceMs);
    if (notices.isQueued(queued.event.event_id)) return;
    const toContacts = await hasReachableContact(tenant);
    await notices.queue(queued, {}, { toContacts, toOperators: !toContacts });
  };
};
