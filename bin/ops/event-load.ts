import { setTimeout as sleep } from 'node:timers/promises';
import { SendMessageBatchCommand } from '@aws-sdk/client-sqs';
import type { AlarmEvent } from '../../shared/contracts/alarm-event.ts';
import { serializeBody } from '../../shared/contracts/message-body.ts';
import type { DeliveryStatus } from '../../shared/contracts/outcomes.ts';
import { inBatches } from '../../shared/domain/in-batches.ts';
import { testEvent } from '../../shared/domain/test-event.ts';
import { errorSummary, OperationError } from './errors.ts';
import { recordsOfEvents } from './event-deliveries.ts';
import type { Session } from './session.ts';

/** The entry of `metadata` without which a notification gets no load. */
export const LOAD_TEST_KEY = 'load_test';

/** The maximum number of entries in a batch (AWS limit). */
const MAX_ENTRIES = 10;

/** How long deliveries can take after the last event was sent. */
const SETTLES_MS = 60_000;
const POLL_MS = 1_000;

/** A load: events per second for some seconds, to one notification. */
export type Load = { tenant: string; id: string; perSecond: number; seconds: number };

/** The result of a load test. Latencies are in ms, from before an event was sent until its delivery was recorded. */
export type LoadResult = {
  /** How long sending took. */
  seconds: number;
  sent: number;
  /** Events that SQS did not accept, and why. */
  not_accepted: number;
  errors: string[];
  /** The number of deliveries by status; `pending` also counts those that have no record yet. */
  deliveries: Partial<Record<DeliveryStatus, number>>;
  latency_ms: { p50: number; p99: number; max: number } | null;
};

/** Rejects a notification that was not created for load tests. @throws OperationError */
const assertTestNotification = async ({ notifications }: Session, { tenant, id }: Load): Promise<void> => {
  const found = await notifications.get({ tenant, id });
  if (found?.record.type === 'webhook' && found.record.metadata?.[LOAD_TEST_KEY] === 'true') return;
  throw new OperationError(
    `Tenant ${tenant} has no notification ${id} of type webhook with "${LOAD_TEST_KEY}":"true" in its metadata: create one for the test.`,
  );
};

/** Returns an event for the notification alone. All have the same alarm, so that failures escalate once. */
const loadEvent = ({ tenant, id }: Load, number: number, nowMs: number): AlarmEvent => {
  const event = testEvent(tenant, nowMs);
  return {
    ...event,
    event_id: `${tenant}:enTest:alTest:chTest:load-${number}:${nowMs}:CRITICAL`,
    details: { ...event.details, state: 'CRITICAL', status: 'This is a load test.' },
    previous_state: 'OK',
    notification_plan: { id: 'npTest', critical_state: [id] },
  };
};

/**
 * Sends at a steady rate without waiting for responses.
 *
 * @returns the times before the requests of accepted events by ID, the duration, and why SQS did not accept others
 */
const sendAll = async ({ sqs, deployment }: Session, load: Load, onProgress: (text: string) => void) => {
  const total = load.perSecond * load.seconds;
  const startMs = performance.now();
  const elapsedSeconds = (): number => (performance.now() - startMs) / 1_000;
  const sentAtMs = new Map<string, number>();
  const errors = new Set<string>();
  const send = async (numbers: readonly number[]): Promise<void> => {
    const nowMs = Date.now();
    const events = numbers.map((number) => loadEvent(load, number, nowMs));
    const { Successful = [], Failed = [] } = await sqs.send(
      new SendMessageBatchCommand({
        QueueUrl: deployment.outputs.QueueUrls['alarm-events'].queue,
        Entries: events.map((event, index) => ({
          Id: String(index),
          MessageBody: serializeBody(event),
          MessageGroupId: load.tenant,
        })),
      }),
    );
    for (const { Id } of Successful) sentAtMs.set(events[Number(Id)]?.event_id ?? '', nowMs);
    for (const { Code, Message } of Failed) errors.add([Code, Message].filter(Boolean).join(': '));
  };
  const requests: Promise<unknown>[] = [];
  for (let sent = 0; sent < total; await sleep(50)) {
    const due = Math.min(total, Math.floor(elapsedSeconds() * load.perSecond) + 1);
    const numbers = Array.from({ length: due - sent }, (_, index) => sent + index);
    for (const batch of inBatches(numbers, MAX_ENTRIES)) {
      requests.push(send(batch).catch((error: unknown) => errors.add(errorSummary(error))));
    }
    sent = due;
    onProgress(`Sent ${sent} of ${total} events.`);
  }
  await Promise.all(requests);
  return { sentAtMs, seconds: elapsedSeconds(), errors: [...errors] };
};

/** Returns a percentile by nearest rank of sorted values. */
const percentile = (sorted: readonly number[], share: number): number =>
  sorted[Math.max(Math.ceil(sorted.length * share) - 1, 0)] ?? 0;

/**
 * Sends events at a steady rate to a notification that exists for this, and waits until they are delivered, at most a
 * minute after the last one. The clock of this machine should be synchronized.
 *
 * @throws OperationError if the notification was not created for load tests
 */
export const runLoad = async (
  session: Session,
  load: Load,
  onProgress: (text: string) => void,
): Promise<LoadResult> => {
  await assertTestNotification(session, load);
  const { sentAtMs, seconds, errors } = await sendAll(session, load, onProgress);
  const pending = new Set(sentAtMs.keys());
  const deliveries: LoadResult['deliveries'] = {};
  const latencies: number[] = [];
  for (const untilMs = Date.now() + SETTLES_MS; pending.size > 0 && Date.now() < untilMs; await sleep(POLL_MS)) {
    const events = [...pending].map((eventId) => ({ tenant: load.tenant, eventId, ids: [load.id] }));
    for (const { event_id, status, updated_at_ms } of (await recordsOfEvents(session, events)).flat()) {
      if (status === 'pending') continue;
      pending.delete(event_id);
      deliveries[status] = (deliveries[status] ?? 0) + 1;
      if (status === 'delivered') latencies.push(updated_at_ms - (sentAtMs.get(event_id) ?? updated_at_ms));
    }
    onProgress(`Waiting for ${pending.size} deliveries.`);
  }
  if (pending.size > 0) deliveries.pending = pending.size;
  const sorted = latencies.toSorted((left, right) => left - right);
  return {
    seconds,
    sent: load.perSecond * load.seconds,
    not_accepted: load.perSecond * load.seconds - sentAtMs.size,
    errors,
    deliveries,
    latency_ms:
      sorted.length === 0
        ? null
        : { p50: percentile(sorted, 0.5), p99: percentile(sorted, 0.99), max: percentile(sorted, 1) },
  };
};
