import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { createFailureReader } from '../../shared/adapters/deliveries/notification-failures.ts';
import { logger } from '../../shared/adapters/logger.ts';
import type { FailureReason } from '../../shared/contracts/outcomes.ts';
import { failed } from '../../shared/domain/attempt-outcome.ts';
import { type DeliveryRecord, withAttempt, withFailure, withStatus } from '../../shared/domain/delivery-record.ts';
import { newNotificationId } from '../../shared/domain/notification-id.ts';
import { createFailureRecorder } from '../../shared/pipeline/failure-recorder.ts';
import { deliveryRecord, RECORD_TIME_MS } from '../support/delivery-records.ts';
import { useDatabase } from '../support/dynamodb.ts';
import { countRequests, withInterruption, withRejections } from '../support/dynamodb-faults.ts';

const { client, connect } = useDatabase();

let written = '';
beforeEach(() => {
  written = '';
  vi.stubEnv('STACK_NAME', 'local');
  vi.spyOn(logger, 'warn').mockImplementation(() => undefined);
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    written += text;
    return true;
  });
  return () => vi.restoreAllMocks();
});

const newNotification = () => ({ tenant: 'acme', notificationId: newNotificationId() });
type Notification = ReturnType<typeof newNotification>;

let events = 0;
/** Returns a pending delivery without an attempt. */
const pending = (of: Notification): DeliveryRecord =>
  deliveryRecord(of, `event ${events++}`, { status: 'pending', attempt_count: 0, attempts: [] });
/** Returns a pending delivery of which an attempt failed `afterMs` after the time of the records. */
const failing = (of: Notification, reason: FailureReason, afterMs: number): DeliveryRecord =>
  withAttempt(pending(of), failed('transient', reason, ''), RECORD_TIME_MS, afterMs);

const reader = createFailureReader(client, 'deliveries', () => RECORD_TIME_MS);
const failuresOf = async ({ tenant, notificationId }: Notification) =>
  (await Array.fromAsync(reader.list(tenant, notificationId, 1)))
    .flat()
    .find((found) => found.notificationId === notificationId);

const recorderOf = (database: typeof client, clock = () => RECORD_TIME_MS) =>
  createFailureRecorder(database, 'deliveries', clock);
const newFailure = (of: Notification, afterMs = 1) => ({ record: failing(of, 'timeout', afterMs), isCounted: false });

describe('the failed deliveries of a batch', () => {
  it('are added with one write for each notification, and counted unless an earlier attempt was', async () => {
    const [one, other] = [newNotification(), newNotification()];
    const database = connect();
    const requests = countRequests(database);
    await recorderOf(database)([
      { record: failing(one, 'http_status', 30), isCounted: false },
      { record: failing(one, 'timeout', 20), isCounted: true },
      { record: withFailure(pending(one), 'expired', RECORD_TIME_MS + 10), isCounted: false },
      { record: failing(other, 'network_error', 5), isCounted: true },
    ]);
    expect(requests).toEqual({ UpdateItemCommand: 2 });
    expect(await failuresOf(one)).toMatchObject({
      failedCount: 2,
      firstFailedAtMs: RECORD_TIME_MS + 10,
      lastFailedAtMs: RECORD_TIME_MS + 30,
      lastReason: 'http_status',
    });
    expect(await failuresOf(other)).toMatchObject({ failedCount: 0, lastReason: 'network_error' });
  });

  it('do not include those that are delivered, superseded, cancelled or not attempted, which send no request', async () => {
    const database = connect();
    const requests = countRequests(database);
    const retried = failing(newNotification(), 'timeout', 1);
    const ended = (['delivered', 'superseded', 'cancelled'] as const).map((status) => withStatus(retried, status, 0));
    await recorderOf(database)([...ended, pending(newNotification())].map((record) => ({ record, isCounted: false })));
    expect(requests).toEqual({});
  });

  it('are logged and counted if they cannot be written, and not written for ten seconds for their tenant', async () => {
    const [of, other] = [newNotification(), { ...newNotification(), tenant: 'another' }];
    let nowMs = 0;
    const record = recorderOf(withRejections(connect(), 'UpdateItemCommand', 1), () => nowMs);
    await record([newFailure(of), newFailure(other)]);
    const fields = expect.objectContaining({ tenant_id: 'acme', notification_id: of.notificationId });
    expect(logger.warn).toHaveBeenCalledExactlyOnceWith('failures of a notification not recorded', fields);
    for (nowMs of [9_999, 10_000]) await record([newFailure(of, nowMs)]);
    expect(written.match(/"failures_not_recorded":1/g)).toHaveLength(2);
    expect(await failuresOf(of)).toMatchObject({ failedCount: 1, firstFailedAtMs: RECORD_TIME_MS + 10_000 });
    expect(await failuresOf(other)).toMatchObject({ failedCount: 1 });
  });

  it('are waited for one second', async () => {
    const database = withInterruption(connect(), 'UpdateItemCommand', () => new Promise<never>(() => undefined));
    const recorded = recorderOf(database)([newFailure(newNotification())]);
    // Timers fire in the order of their due times, however late.
    expect(await Promise.race([recorded.then(() => 'ended'), sleep(2_000)])).toBe('ended');
    expect(written).toContain('"failures_not_recorded":1');
  });
});
