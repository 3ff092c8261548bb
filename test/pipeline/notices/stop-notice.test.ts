import { describe, expect, it } from 'vitest';
import { createEmailStops } from '../../../shared/adapters/accounts/email-stops.ts';
import { type EmailStop, mailboxHash, type Recipient } from '../../../shared/domain/email-stop.ts';
import { DAY_MS } from '../../../shared/domain/time.ts';
import { createNoticeQueue } from '../../../shared/pipeline/notices/notice-queue.ts';
import { MAX_STOP_NOTICES_PER_DAY, noticeTable } from '../../../shared/pipeline/notices/notice-table.ts';
import { createStopNotices, type StopNoticeDependencies } from '../../../shared/pipeline/report-deliveries.ts';
import { useDatabase } from '../../support/dynamodb.ts';
import { readDelivery } from '../../support/events.ts';
import { reportEnvironment } from '../../support/report-environment.ts';

const { client } = useDatabase();

const NOW_MS = Date.UTC(2026, 0, 1, 12);
const DAY_START_MS = Date.UTC(2026, 0, 1);
const [ONE, OTHER] = ['one@example.com', 'other@example.com'] as const;
const stop: EmailStop = { reason: 'bounced', sinceMs: NOW_MS };

let tenants = 0;

/** Sets up an account with contacts, and returns reports of an execution environment. */
const setUp = (contacts: readonly string[], { isEmailOff = false, reportedAtMs = NOW_MS } = {}) => {
  const tenant = `stop-notices-${++tenants}`;
  const queued: string[] = [];
  const queues = {
    sendDelayed: async (url: string, { body }: { body: string }) => {
      queued.push(`${url.split('/').at(-1)} ${readDelivery(body).notice?.subject}`);
    },
  };
  const dependencies: Omit<StopNoticeDependencies, 'notices'> = {
    client,
    accounts: { technicalContacts: async () => [...contacts], isEmailOff: async () => isEmailOff },
    stops: createEmailStops(client, 'accounts', () => NOW_MS),
  };
  const environment = () => {
    const notices = createNoticeQueue(queues, reportEnvironment.SENDER_QUEUES, () => reportedAtMs);
    const report = createStopNotices({ ...dependencies, notices }, reportEnvironment);
    return (recipient: Recipient, found: EmailStop) => report(recipient, found, reportedAtMs);
  };
  return { recipientOf: (address: string): Recipient => ({ tenant, address }), dependencies, environment, queued };
};

it('a stop has a notice that names the address, and whose ID has only a hash of the mailbox', () => {
  const recipient: Recipient = { tenant: 'acme', address: 'OnCall@example.com' };
  const { event, content } = noticeTable.stopped(recipient, stop);
  expect(content.subject).toBe('Emails to OnCall@example.com are stopped');
  expect(content.facts).toEqual([
    ['Address', 'OnCall@example.com'],
    ['Since', NOW_MS],
  ]);
  expect(event.event_id).toBe(`acme:${mailboxHash(recipient)}-bounced:${DAY_START_MS}:stopped`);
  expect(JSON.stringify([event.event_id, event.entity, event.alarm])).not.toMatch(/oncall/i);
});

describe('a stop', () => {
  const subject = `Emails to ${ONE} are stopped`;

  it.each([
    ['to the contacts, of whom one remains', [ONE, OTHER], {}, [`contacts ${subject}`]],
    ['to the operators if no contact remains', [ONE], {}, [`managed ${subject}`]],
    ['to the operators if there are no contacts', [], {}, [`managed ${subject}`]],
    ['to the operators if emails of the account are off', [ONE, OTHER], { isEmailOff: true }, [`managed ${subject}`]],
    ['to nobody if it began more than a day ago', [ONE, OTHER], { reportedAtMs: NOW_MS + DAY_MS + 1 }, []],
  ])('is reported %s', async (_, contacts, options, expected) => {
    const { recipientOf, dependencies, environment, queued } = setUp(contacts, options);
    await createEmailStops(client, 'accounts', () => NOW_MS).bounce(recipientOf(ONE), NOW_MS);
    expect(await dependencies.stops.find(recipientOf(ONE))).toMatchObject(stop);
    await environment()(recipientOf(ONE), stop);
    expect(queued).toEqual(expected);
  });

  it('that is repeated has the same notice, and counts once toward the limit, above which one notice says so', async () => {
    const { recipientOf, environment, queued } = setUp([OTHER]);
    const report = environment();
    for (let number = 0; number < MAX_STOP_NOTICES_PER_DAY; number++)
      for (const reportAgain of [report, report, environment()])
        await reportAgain(recipientOf(`${number}@example.com`), stop);
    expect(new Set(queued).size).toBe(MAX_STOP_NOTICES_PER_DAY);
    queued.splice(0);
    for (const address of ['x@example.com', 'y@example.com']) await report(recipientOf(address), stop);
    expect(queued).toEqual([`contacts Emails to more than ${MAX_STOP_NOTICES_PER_DAY} addresses were stopped today`]);
    queued.splice(0);
    await environment()(recipientOf('0@example.com'), stop);
    expect(queued).toEqual(['contacts Emails to 0@example.com are stopped']);
  });
});
