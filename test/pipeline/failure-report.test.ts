import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import type { Delivery } from '../../shared/contracts/messages.ts';
import type { NotificationTypeId } from '../../shared/contracts/notification-types.ts';
import { failed } from '../../shared/domain/attempt-outcome.ts';
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
import type { SenderDependencies } from '../../shared/pipeline/sender/sender-dependencies.ts';
import { alarmEvent, alarmHeader, alertContent } from '../support/events.ts';
import { sqsMessage } from '../support/sqs-message.ts';

const NOW_MS = Date.UTC(2026, 0, 1);

/** Sets up a job, whose reports are recorded instead of sent. */
const setUp = (
  changes: Partial<Delivery> = {},
  { type = 'webhook', receiveCount = 1 }: { type?: NotificationTypeId; receiveCount?: number } = {},
) => {
  const marked: string[] = [];
  const reported: string[] = [];
  const recorded: FailingDelivery[] = [];
  const reports: SenderDependencies['reports'] = {
    reportFailure: async () => {
      reported.push('failure');
    },
    reportLimit: async () => {
      reported.push('limit');
    },
    escalateUnreached: async (_event, _record, siblings) => {
      reported.push(`unreached ${siblings?.join()}`);
      return true;
    },
  };
  const reportFailures = createFailureReport({
    reports,
    recordFailures: async (deliveries) => {
      recorded.push(...deliveries);
    },
    deliveries: {
      markReported: async ({ status }) => {
        marked.push(status);
      },
    },
    retryDelayScale: 1,
  });
  const message = sqsMessage();
  const job = createJob(type, {
    message: { ...message, attributes: { ...message.attributes, ApproximateReceiveCount: String(receiveCount) } },
    body: { ...body, ...changes },
    timeLeft: () => 30_000,
  });
  const report = (result: DeliveryResult) => reportFailures([{ job, result }]);
  return { reports, reported, marked, recorded, report };
};

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
  'due soon': withNextAttempt(attempted, NOW_MS + 5_000),
  delivered: withStatus(initial, 'delivered', NOW_MS),
  bounced: withStatus(initial, 'bounced', NOW_MS),
} satisfies Record<string, DeliveryRecord>;

describe('a delivery that fails', () => {
  const report = async (changes: Partial<Delivery>, type: NotificationTypeId, record: DeliveryRecord) => {
    const started = setUp(changes, { type });
    await started.report({ kind: 'retried', claimed: initial, record });
    return started.reported;
  };

  it('is reported to the contacts of its notification, and as unreached', async () => {
    expect(await report({}, 'webhook', records.failing)).toEqual(['failure', 'unreached ntB']);
  });

  it('is reported only as unreached if its notification was deleted, or if it is an email to the contacts', async () => {
    expect(await report({}, 'webhook', records.cancelled)).toEqual(['unreached ntB']);
    expect(await report({}, 'technicalContactsEmail', records.failed)).toEqual(['unreached ntB']);
  });

  it('is not reported in shadow mode', async () => {
    expect(await report({}, 'webhook', records.withheld)).toEqual([]);
  });

  it('is reported with the state of the record, which a summary gets from its alarms', async () => {
    const notice: Delivery['notice'] = { kind: 'summary', subject: '', paragraphs: [], facts: [] };
    const event = alarmHeader({ details: { state: 'WARNING' } });
    const started = setUp({ notice, event });
    const escalate = vi.spyOn(started.reports, 'escalateUnreached');
    for (const [record, state] of [
      [records.failed, 'CRITICAL'],
      [{ ...records.cancelled, state: 'OK' as const }, 'OK'],
    ] as const) {
      await started.report({ kind: 'dead_lettered', claimed: initial, record });
      expect(escalate.mock.lastCall?.[0].state).toBe(state);
    }
  });

  it('is reported only as unreached if it bounced: the recorder of bounces has reported each of them', async () => {
    expect(await report({}, 'email', records.bounced)).toEqual(['unreached ntB']);
  });

  it('is not reported if it is a notice, to the contacts or to the operators', async () => {
    const notice: Delivery['notice'] = { kind: 'failing', subject: '', paragraphs: [], facts: [] };
    for (const type of ['technicalContactsEmail', 'managed'] as const) {
      expect(await report({ notice }, type, records.failed)).toEqual([]);
    }
  });

  it('is marked as reported once all of its notices are queued, and it is known whether it reached anybody', async () => {
    const started = setUp();
    const error = new Error('SQS fails');
    vi.spyOn(started.reports, 'escalateUnreached').mockRejectedValueOnce(error).mockResolvedValueOnce(false);
    const result = { kind: 'retried', claimed: initial, record: records.failing } as const;
    expect([...(await started.report(result)).values()]).toEqual([error]);
    expect((await started.report(result)).size).toBe(0);
    expect(started.marked).toEqual([]);
    await started.report(result);
    expect(started.marked).toEqual(['pending']);
  });

  it('is given to the failures of its notification by each claim, and is counted until an attempt of the round failed', async () => {
    const recordedAfter = async (claimed: DeliveryRecord, record: DeliveryRecord) => {
      const started = setUp();
      await started.report({ kind: 'retried', claimed, record });
      return started.recorded;
    };
    expect(await recordedAfter(initial, records['due soon'])).toEqual([
      { record: records['due soon'], isCounted: false },
    ]);
    expect(await recordedAfter(records['due soon'], records.failed)).toEqual([
      { record: records.failed, isCounted: true },
    ]);
    const duplicate = setUp();
    await duplicate.report({ kind: 'duplicate', record: records.failed });
    expect(duplicate.recorded).toEqual([]);
  });

  it('is reported although its message is returned to the queue after the record was written', async () => {
    const started = setUp();
    await started.report({ kind: 'internal_error', isReturned: true, claimed: initial, record: records.failing });
    expect(started.reported).toEqual(['failure', 'unreached ntB']);
  });
});

describe('notices', () => {
  it('are waited for until two seconds before the function times out, and fail if one of them does', async () => {
    const hanging = new Promise<void>(() => undefined);
    const waited = waitForNotices([hanging, Promise.resolve()], () => 2_100).catch((error: Error) => error.name);
    // Timers fire in the order of their due times, however late.
    expect(await Promise.race([waited, sleep(1_500)])).toBe('NoticeTimeoutError');
  });
});
