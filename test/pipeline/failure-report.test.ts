import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import type { Delivery } from '../../shared/contracts/messages.ts';
import type { NotificationTypeId } from '../../shared/contracts/notification-types.ts';
import { type AttemptOutcome, failed } from '../../shared/domain/attempt-outcome.ts';
import {
  claimedRecord,
  type DeliveryRecord,
  withAttempt,
  withFailure,
  withNextAttempt,
  withShadow,
  withStatus,
} from '../../shared/domain/delivery-record.ts';
import type { DeliveryResult } from '../../shared/domain/delivery-result.ts';
import type { FailingDelivery } from '../../shared/pipeline/failure-recorder.ts';
import { waitForNotices } from '../../shared/pipeline/notices/wait-for-notices.ts';
import { createJob } from '../../shared/pipeline/sender/delivery-job.ts';
import { createFailureReport } from '../../shared/pipeline/sender/failure-report.ts';
import { alarmEvent, alarmHeader, alertContent } from '../support/events.ts';
import { sqsMessage } from '../support/sqs-message.ts';

const NOW_MS = Date.UTC(2026, 0, 1);

const body: Delivery = {
  notification_id: 'ntA',
  ...alertContent(alarmEvent()),
  accepted_at_ms: NOW_MS,
  content_hash: 'hash',
  siblings: ['ntB'],
};
const initial = claimedRecord(body, 'claim', NOW_MS);
const attempted = withAttempt(initial, failed('transient', 'http_status', ''), NOW_MS, 10);
const records = {
  failed: withFailure(initial, 'http_status', NOW_MS),
  cancelled: withStatus(initial, 'cancelled', NOW_MS),
  withheld: withShadow(initial, NOW_MS),
  failing: withNextAttempt(attempted, NOW_MS + 600_000),
  'failing through the service': withNextAttempt(
    withAttempt(initial, failed('throttled', 'throttled', '', { cause: 'service' }), NOW_MS, 10),
    NOW_MS + 600_000,
  ),
  'due soon': withNextAttempt(attempted, NOW_MS + 5_000),
  bounced: withStatus(initial, 'bounced', NOW_MS),
  summarized: withStatus(initial, 'summarized', NOW_MS),
} satisfies Record<string, DeliveryRecord>;

const noticeOf = (kind: 'failing' | 'summary') => ({ notice: { kind, subject: '', paragraphs: [], facts: [] } });

/** Sets up a job, whose reports are recorded instead of sent. */
const setUp = (changes: Partial<Delivery> = {}, type: NotificationTypeId = 'webhook') => {
  const marked: string[] = [];
  const reported: string[] = [];
  const recorded: FailingDelivery[] = [];
  const escalateUnreached = vi.fn(async (event: { state: string }, _record: unknown, siblings?: readonly string[]) => {
    reported.push(`unreached ${event.state} ${siblings?.join()}`);
    return true;
  });
  const report = createFailureReport({
    reports: {
      reportFailure: async () => void reported.push('failure'),
      reportLimit: async () => void reported.push('limit'),
      escalateUnreached,
    },
    recordFailures: async (deliveries) => void recorded.push(...deliveries),
    deliveries: { markReported: async ({ status }) => void marked.push(status) },
    retryDelayScale: 1,
  });
  const job = createJob(type, { message: sqsMessage(), body: { ...body, ...changes }, timeLeft: () => 30_000 });
  return {
    escalateUnreached,
    reported,
    marked,
    recorded,
    report: (result: DeliveryResult) => report([{ job, result }]),
  };
};

describe('a delivery that fails', () => {
  const toBoth = ['failure', 'unreached CRITICAL ntB'];
  const asUnreached = ['unreached CRITICAL ntB'];
  const summary = { ...noticeOf('summary'), event: alarmHeader({ details: { state: 'WARNING' } }) };

  it.each<[string, Partial<Delivery>, NotificationTypeId, keyof typeof records, string[]]>([
    ['to the contacts of its notification, and as unreached', {}, 'webhook', 'failing', toBoth],
    ['only as unreached if the service fails', {}, 'email', 'failing through the service', asUnreached],
    ['only as unreached if its notification was deleted', {}, 'webhook', 'cancelled', asUnreached],
    ['only as unreached if it is an email to the contacts', {}, 'technicalContactsEmail', 'failed', asUnreached],
    ['only as unreached if it bounced, which was reported before', {}, 'email', 'bounced', asUnreached],
    ['with the state of the alarms if it is a summary', summary, 'email', 'failed', toBoth],
    ['to nobody in shadow mode', {}, 'webhook', 'withheld', []],
    ['to nobody if it is a notice to the contacts', noticeOf('failing'), 'technicalContactsEmail', 'failed', []],
    ['to nobody if it is a notice to the operators', noticeOf('failing'), 'managed', 'failed', []],
  ])('is reported %s', async (_, changes, type, record, expected) => {
    const { report, reported } = setUp(changes, type);
    await report({ kind: 'retried', claimed: initial, record: records[record] });
    expect(reported).toEqual(expected);
  });

  it('is not escalated again if its destination fails after the service did', async () => {
    const { report, reported } = setUp();
    const record = { ...records.failing, reported_status: 'pending', reported_cause: 'service' } as const;
    await report({ kind: 'retried', claimed: initial, record });
    expect(reported).toEqual(['failure']);
  });

  it('is reported although its message is returned to the queue after the record was written', async () => {
    const { report, reported } = setUp();
    await report({ kind: 'internal_error', isReturned: true, claimed: initial, record: records.failing });
    expect(reported).toEqual(toBoth);
  });

  it('is marked as reported once all of its notices are queued, and it is known whether it reached anybody', async () => {
    const { report, escalateUnreached, marked } = setUp();
    const error = new Error('SQS fails');
    escalateUnreached.mockRejectedValueOnce(error).mockResolvedValueOnce(false);
    const result = { kind: 'retried', claimed: initial, record: records.failing } as const;
    expect([...(await report(result)).values()]).toEqual([error]);
    expect((await report(result)).size).toBe(0);
    expect(marked).toEqual([]);
    await report(result);
    expect(marked).toEqual(['pending']);
  });

  it('is given to the failures of its notification by each claim, and is counted until an attempt of the round failed', async () => {
    const recordedAfter = async (result: DeliveryResult) => {
      const { report, recorded } = setUp();
      await report(result);
      return recorded;
    };
    const [first, last] = [records['due soon'], records.failed];
    expect(await recordedAfter({ kind: 'retried', claimed: initial, record: first })).toEqual([
      { record: first, isCounted: false },
    ]);
    expect(await recordedAfter({ kind: 'retried', claimed: first, record: last })).toEqual([
      { record: last, isCounted: true },
    ]);
    expect(await recordedAfter({ kind: 'duplicate', record: last })).toEqual([]);
  });
});

it('an alert that is above the daily limit is reported to the contacts, and one above the number of a window is not', async () => {
  const attempt: AttemptOutcome = failed('permanent', 'tenant_limit_exceeded', '', { canBeSummarized: true });
  for (const [changes, expected] of [
    [{ attempt }, ['limit']],
    [{}, []],
  ] as const) {
    const { report, reported } = setUp({}, 'sms');
    await report({ kind: 'summarized', claimed: initial, record: records.summarized, ...changes });
    expect(reported).toEqual(expected);
  }
});

it('notices are waited for until two seconds before the function times out, and fail if one of them does', async () => {
  const hanging = new Promise<void>(() => undefined);
  const waited = waitForNotices([hanging, Promise.resolve()], () => 2_100).catch((error: Error) => error.name);
  // Timers fire in the order of their due times, however late.
  expect(await Promise.race([waited, sleep(1_500)])).toBe('NoticeTimeoutError');
});
