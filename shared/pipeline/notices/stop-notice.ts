import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import type { AccountRepository } from '../../adapters/accounts/account-repository.ts';
import type { EmailStops } from '../../adapters/accounts/email-stops.ts';
import { createCounters, dailyCounter } from '../../adapters/dynamodb/counters.ts';
import type { StopReason } from '../../contracts/outcomes.ts';
import { DAY_MS, dayEndMs } from '../../domain/day.ts';
import { type EmailStop, type Recipient, shortMailboxHash } from '../../domain/email-stop.ts';
import { failureText } from '../../domain/failure-text.ts';
import { createNotice, dailyNoticeId, type Notice } from '../../domain/notice.ts';
import type { ParsedEnvironment } from '../../environment.ts';
import type { NoticeQueue } from './notice-queue.ts';

const BY_RECIPIENT = 'Only the recipient can resume them, with the link in any email of the account.';

const adviceFor: Record<StopReason, string> = {
  opted_out: BY_RECIPIENT,
  complained: BY_RECIPIENT,
  bounced:
    'Correct the address, or the mailbox, which a test then resumes: POST /notifications/{id}/test. Otherwise the emails resume after a day, and after a week if they had been stopped before.',
};

/** Returns the notice of a stop: one per mailbox, cause and UTC day. Its event ID has only a hash of the mailbox. */
export const stopNotice = (recipient: Recipient, { reason, sinceMs }: EmailStop): Notice => {
  const { tenant, address } = recipient;
  const id = dailyNoticeId('stopped', tenant, `${shortMailboxHash(recipient)}-${reason}`, sinceMs);
  return createNotice(tenant, id, {
    kind: 'stopped',
    subject: `Emails to ${address} are stopped`,
    paragraphs: [
      `Nothing is sent by email to ${address}: ${failureText(reason, undefined)}. Alerts to it fail, and are escalated if they reach nobody else.`,
      adviceFor[reason],
      'The service sends this notice once a day for each mailbox and reason.',
    ],
    facts: [
      ['Address', address],
      ['Reason', reason],
      ['Since', sinceMs],
    ],
  });
};

/** The maximum number of notices of stops of an account on a UTC day. Then one says so. */
export const MAX_STOP_NOTICES_PER_DAY = 20;

/** Returns the notice that further stops of an account on a day have no notice. */
export const stopLimitNotice = (tenant: string, sinceMs: number): Notice =>
  createNotice(tenant, dailyNoticeId('stopped', tenant, 'more-stops', sinceMs), {
    kind: 'stopped',
    subject: `Emails to more than ${MAX_STOP_NOTICES_PER_DAY} addresses were stopped today`,
    paragraphs: [
      'Until the day ends, the service sends no notices of further stops. GET /notifications/{id} and GET /account show them, and alerts that reach nobody are escalated.',
    ],
    facts: [['The day ends', dayEndMs(sinceMs)]],
  });

/** What the notices of stops use. */
export type StopNoticeDependencies = {
  client: DynamoDBDocumentClient;
  notices: NoticeQueue;
  accounts: Pick<AccountRepository, 'technicalContacts' | 'isEmailOff'>;
  stops: Pick<EmailStops, 'find'>;
};

/**
 * Creates the function that queues the notice of a stop (docs/decisions/notices.md#stops): to the technical contacts, of
 * whom the sender skips those that are stopped, or to the operators if no contact remains. The caller must have written
 * the stop: if the last contacts are stopped at the same time, one of the calls finds none.
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

  /**
   * Repeating it within a day of the start has no effect.
   *
   * @param reportedAtMs when SQS accepted the message of the stop, which may wait longer than a day
   */
  return async (recipient: Recipient, stop: EmailStop, reportedAtMs: number): Promise<void> => {
    const { tenant } = recipient;
    const { sinceMs } = stop;
    const notice = stopNotice(recipient, stop);
    const id = notice.event.event_id;
    // A record of the notice makes a repetition a duplicate, but is not kept as long as a stop.
    if (reportedAtMs - sinceMs > DAY_MS || notices.isQueued(id)) return;
    const isListed = await counters.takeOnce(dailyCounter('stops', tenant, sinceMs), id, MAX_STOP_NOTICES_PER_DAY);
    const queued = isListed ? notice : stopLimitNotice(tenant, sinceMs);
    if (notices.isQueued(queued.event.event_id)) return;
    const toContacts = await hasReachableContact(tenant);
    await notices.queue(queued, {}, { toContacts, toOperators: !toContacts });
  };
};
