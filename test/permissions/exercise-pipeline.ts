import type { ServerResponse } from 'node:http';
import { SendMessageCommand } from '@aws-sdk/client-sqs';
import type { AwsCall, AwsFault } from 'local-aws/aws-service.ts';
import { createIncidentLocks } from '../../shared/adapters/deliveries/incident-locks.ts';
import { MAX_FALLBACK_NOTIFICATIONS } from '../../shared/contracts/account.ts';
import type { AlarmEvent } from '../../shared/contracts/alarm-event.ts';
import {
  type NotificationTypeId,
  notificationTypeIds,
  notificationTypes,
} from '../../shared/contracts/notification-types.ts';
import { inBatches } from '../../shared/domain/in-batches.ts';
import { claimedLock } from '../../shared/domain/incident.ts';
import { newNotificationId } from '../../shared/domain/notification-id.ts';
import { senderName } from '../../shared/environment.ts';
import { type FaultyStack, throttled } from '../faults/support.ts';
import type { Client } from '../support/api.ts';
import { deliveryRecord, writeRecords } from '../support/delivery-records.ts';
import { bounceBody } from '../support/email-events.ts';
import { deliveryMessage, headerOf, newAlarmEvent } from '../support/events.ts';
import { destinationsAt } from '../support/notifications.ts';
import { optOut, undoOptOut } from '../support/opt-out-requests.ts';
import type { Received } from '../support/sink.ts';
import { until } from '../support/until.ts';
import type { Call } from './calls.ts';

/** Later than any time that the test advances the stack to. */
const FAR_FUTURE_MS = Date.UTC(2100, 0);

const REPORTER = 'Reports-report-deliveries';

/** How all destinations respond: they accept, fail temporarily, or reject permanently. */
export type Behavior = 'accept' | 'fail' | 'reject';

const awsFaults: Record<'fail' | 'reject', Record<'ses' | 'sns', AwsFault>> = {
  fail: {
    ses: { status: 400, type: 'AccountSendingPausedException', message: 'Paused' },
    sns: { status: 403, type: 'AuthorizationError', message: 'Not authorized' },
  },
  reject: {
    ses: { status: 400, type: 'MessageRejected', message: 'Address blacklisted.' },
    sns: { status: 400, type: 'InvalidParameter', message: 'Invalid parameter: PhoneNumber' },
  },
};

/** Returns the error that SES or SNS responds with, if any. */
export const awsFault = (behavior: Behavior, { service }: AwsCall): AwsFault | undefined =>
  behavior !== 'accept' && (service === 'ses' || service === 'sns') ? awsFaults[behavior][service] : undefined;

/**
 * Returns a request handler for HTTP destinations. For pagers, routers and feeds, 404 is permanent; for webhooks and
 * what responds like them only 410.
 */
export const httpResponder =
  (behavior: Behavior) =>
  (response: ServerResponse, { path }: Received): void => {
    if (behavior === 'accept') response.end('{"result":"success"}');
    if (behavior === 'fail') response.writeHead(500).end();
    if (behavior === 'reject') response.writeHead(/^\/(incidentpager|router|feed)/.test(path) ? 404 : 410).end();
  };

export type PipelineExercise = {
  world: FaultyStack;
  client: Client;
  calls: readonly Call[];
  setBehavior: (behavior: Behavior) => void;
  /** The URL of the HTTP destinations. */
  sinkUrl: string;
};

/**
 * Sends events through the pipeline: accepted, repeated, conflicting, forwarded to other types, failing, rejected and
 * invalid ones.
 */
export const exercisePipeline = async (
  { world, client, calls, setBehavior, sinkUrl }: PipelineExercise,
  ids: readonly string[],
): Promise<void> => {
  const { queues } = world.stack;
  const queueUrl = (name: string) => queues.get(`Delivery-${name}`)?.settings.url ?? '';
  const hasCalled = (caller: string, action: string, resource: string) =>
    calls.some((call) => call.caller === caller && call.action === action && call.resource.endsWith(resource));
  const hasSenderCalled = (type: NotificationTypeId, action: string, resource: string) =>
    hasCalled(`Delivery-${senderName(type)}`, action, resource);
  const untilEverySender = (isDone: (type: NotificationTypeId) => boolean) =>
    world.advanceUntil(until(async () => (notificationTypeIds.every(isDone) ? true : undefined)));

  /** Resolves when all events and deliveries are processed, so that a busy machine does not get more and more of them. */
  const drainAll = async (): Promise<void> => {
    for (const name of ['AlarmEvents', ...notificationTypeIds]) await world.drainQueue(`Delivery-${name}`);
  };

  const untilDelivered = ({ event_id }: AlarmEvent, id: string) =>
    world.advanceUntil(
      until(async () =>
        (await world.deliveries(client.tenant, id)).find(
          (found) => found.event_id === event_id && found.status === 'delivered',
        ),
      ),
    );

  /** Reports a bounce twice, because SES can repeat events. */
  const sendBounces = async (bounced: AlarmEvent, emailId: string): Promise<void> => {
    const { address = '' } = destinationsAt(sinkUrl).email;
    const MessageBody = bounceBody(bounced, emailId, { destination: [address] });
    const QueueUrl = queues.get('EmailEvents-Queue')?.settings.url;
    for (let time = 0; time < 2; time++) await world.sqs.send(new SendMessageCommand({ QueueUrl, MessageBody }));
  };

  // The first call of every consumer fails (`throttleFirstCall`), so that each returns a message to its queue before it
  // delivers.
  const event = newAlarmEvent(client.tenant, ids);
  await world.sendEvents([event, '{not an event']);
  for (const id of ids) await world.advanceUntil(world.endedDeliveries(client.tenant, id, 1));

  // Reusing an event ID with different content is a conflict, which each sender records.
  await world.sendEvents([{ ...event, check: { id: 'another' } }]);
  await untilEverySender((type) =>
    world.lines.some((line) => line.includes(`type=${type}`) && line.includes('conflict=1')),
  );

  // Sends an event to the sender of each type, which forwards the deliveries of the others.
  for (const type of notificationTypeIds) {
    const misdirected = newAlarmEvent(client.tenant, ids);
    for (const id of ids) {
      const MessageBody = deliveryMessage(id, misdirected);
      await world.sqs.send(new SendMessageCommand({ QueueUrl: queueUrl(type), MessageBody }));
    }
  }
  await untilEverySender((from) =>
    notificationTypeIds.every((to) => from === to || hasSenderCalled(from, 'sqs:SendMessage', `:Delivery-${to}`)),
  );

  // The email bounced: one is the only destination of its event.
  const emailId = ids[notificationTypeIds.indexOf('email')] ?? '';
  const emailEvent = newAlarmEvent(client.tenant, [emailId], { alarm: 'alBounced' });
  await world.sendEvents([emailEvent]);
  await untilDelivered(emailEvent, emailId);
  await sendBounces(emailEvent, emailId);
  // This event has other destinations.
  await sendBounces(event, emailId);
  // A test is sent in spite of the bounce, and ends the stop of the mailbox when it is delivered.
  const untilStopped = (isStopped: boolean) =>
    world.advanceUntil(
      until(async () => {
        const { text } = await client.get(`/notifications/${emailId}`);
        return text.includes('"stopped"') === isStopped ? true : undefined;
      }),
    );
  await untilStopped(true);
  await client.post(`/notifications/${emailId}/test`);
  await untilStopped(false);
  const untilReported = (queue: string) =>
    world.advanceUntil(
      until(async () => (hasCalled(REPORTER, 'sqs:SendMessage', `:Delivery-${queue}`) ? true : undefined)),
    );
  for (const queue of ['managed', 'technicalContactsEmail']) await untilReported(queue);

  // Escalations go to fallback notifications of every type. Functions cache the account for a minute.
  const setFallback = async (escalation_notifications: readonly string[]): Promise<void> => {
    await client.put('/account', { escalation_notifications });
    await client.get('/account');
    const endsAtMs = world.stack.clock.now() + 61_000;
    await world.advanceUntil(until(async () => (world.stack.clock.now() > endsAtMs ? true : undefined)));
  };
  const fallbackTypes = notificationTypeIds.filter((type) => type !== 'technicalContactsEmail' && type !== 'managed');
  // Dispatch reports a plan that lists only unknown notifications.
  for (const types of inBatches(fallbackTypes, MAX_FALLBACK_NOTIFICATIONS)) {
    const fallback = await Promise.all(
      types.map((type) => client.create({ label: 'fallback', type, details: destinationsAt(sinkUrl)[type] })),
    );
    await setFallback(fallback);
    await world.sendEvents([newAlarmEvent(client.tenant, [newNotificationId()], { alarm: `al${fallback[0]}` })]);
    for (const type of types) await untilReported(type);
  }

  // Another worker holds the incident locks, then releases them.
  const orderedId = await client.create({
    label: 'ordered',
    type: 'webhook',
    details: destinationsAt(sinkUrl).webhook,
    ordered: true,
  });
  const orderedIds = [...ids, orderedId];
  const contended = newAlarmEvent(client.tenant, orderedIds);
  const time = { producedAtMs: undefined, acceptedAtMs: 0 };
  const incidentLocks = createIncidentLocks(world.documents, world.table('Deliveries'));
  const locks = await Promise.all(
    orderedIds.map((id) =>
      incidentLocks.claim(claimedLock(headerOf(contended), id, 'another', FAR_FUTURE_MS, time), FAR_FUTURE_MS),
    ),
  );
  await world.sendEvents([contended]);
  await untilEverySender((type) => {
    const isOrdered = notificationTypes[type].hasIncidents || type === 'webhook';
    return !isOrdered || hasSenderCalled(type, 'sqs:SendMessage', `:Delivery-${type}`);
  });
  for (const lock of locks) if (lock) await incidentLocks.release(lock, 0);

  setBehavior('fail');
  await world.sendEvents([newAlarmEvent(client.tenant, ids)]);
  await untilEverySender((type) => hasSenderCalled(type, 'sqs:SendMessage', `:Delivery-${type}-Retries`));
  // A message of each retry queue returns to it, because its notification cannot be read. No other event has its alarm, so
  // it waits for no incident lock, which would return it to no queue.
  const recover = world.injectFault(
    throttled,
    ({ caller, action }) => caller.startsWith('local-Delivery-send-') && action === 'BatchGetItem',
  );
  for (const [index, type] of notificationTypeIds.entries()) {
    const id = ids[index] ?? '';
    const MessageBody = deliveryMessage(id, newAlarmEvent(client.tenant, [id], { alarm: `alRetried${index}` }));
    await world.sqs.send(new SendMessageCommand({ QueueUrl: queueUrl(`${type}-Retries`), MessageBody }));
  }
  await untilEverySender((type) => hasSenderCalled(type, 'sqs:ChangeMessageVisibility', `:Delivery-${type}-Retries`));
  recover();
  setBehavior('reject');
  await untilEverySender((type) => hasSenderCalled(type, 'sqs:SendMessage', `:Delivery-${type}-DeadLetters`));

  // Messages that arrive before their next attempt is due: senders read the records.
  for (const [index, type] of notificationTypeIds.entries()) {
    const early = newAlarmEvent(client.tenant, ids, { alarm: `alEarly${index}` });
    const due = { DataType: 'Number', StringValue: String(world.stack.clock.now() + 60_000) };
    const [QueueUrl, MessageBody] = [queueUrl(`${type}-Retries`), deliveryMessage(ids[index] ?? '', early)];
    const MessageAttributes = { next_attempt_at_ms: due };
    await world.sqs.send(new SendMessageCommand({ QueueUrl, MessageBody, MessageAttributes }));
  }
  await untilEverySender((type) => hasSenderCalled(type, 'dynamodb:BatchGetItem', '/Storage-Deliveries'));
  // The plan has too many notifications to list them in the delivery, so dispatch stores them, and the reporter reads them
  // to find out whether the event reached anybody.
  const details = destinationsAt(sinkUrl).webhook;
  const others = await Promise.all(
    Array.from({ length: 26 }, () => client.create({ label: 'one of many', type: 'webhook', details })),
  );
  await world.sendEvents([newAlarmEvent(client.tenant, [...ids, ...others], { alarm: 'alOfMany' })]);
  await world.advanceUntil(
    until(async () => (hasCalled(REPORTER, 'dynamodb:GetItem', '/Storage-Deliveries') ? true : undefined)),
  );
  // Every type has a failed delivery, so redeliveries send to every queue.
  for (const id of ids) {
    const redelivered = async () => {
      const { text } = await client.post(`/notifications/${id}/redeliver`, { since: 0 });
      return /"count":[1-9]/.test(text);
    };
    await world.advanceUntil(until(redelivered));
  }
  const waiting = deliveryRecord({ tenant: client.tenant, id: ids[0] ?? '' }, 'waits', {
    status: 'pending',
    next_attempt_at_ms: FAR_FUTURE_MS,
  });
  await writeRecords(world.documents, world.table('Deliveries'), [waiting]);
  await client.post(`/notifications/${ids[0]}/redeliver`, { status: 'pending' });
  await client.get('/failures');
  await optOut(world, { tenant: client.tenant, address: 'former@example.com' });
  await undoOptOut(world, { tenant: client.tenant, address: 'former@example.com' });
  // The notice of a stop goes to the operators, because SES has rejected the contact, or to a contact that remains.
  await client.put('/account', { technical_contacts: ['new@example.com'] });
  await optOut(world, { tenant: client.tenant, address: 'another@example.com' });

  // SES has rejected the address, whose stop a test ends, too.
  setBehavior('accept');
  await client.post(`/notifications/${emailId}/test`);
  await untilStopped(false);

  // Senders use new settings within a minute, and read the alerts of a summary a minute after its window.
  await client.put('/account', { summaries: { email_after: 1, sms_after: 1, window_minutes: 1 } });
  const summarizing = notificationTypeIds.filter((type) => notificationTypes[type].summarizedAfter !== null);
  do {
    await world.sendEvents([newAlarmEvent(client.tenant, ids), newAlarmEvent(client.tenant, ids)]);
    await drainAll();
  } while (!summarizing.every((type) => hasSenderCalled(type, 'dynamodb:Query', '/Storage-Deliveries')));

  // The reporter reads the alerts of a summary that is cancelled.
  const summarizedId = await client.create({
    label: 'summarized',
    type: 'email',
    details: { address: 'summary@example.com' },
  });
  await world.sendEvents(['alA', 'alB', 'alC'].map((alarm) => newAlarmEvent(client.tenant, [summarizedId], { alarm })));
  await world.advanceUntil(
    until(async () =>
      (await world.deliveries(client.tenant, summarizedId)).find(({ status }) => status === 'summarized'),
    ),
  );
  await client.delete(`/notifications/${summarizedId}`);
  await world.advanceUntil(
    until(async () => (hasCalled(REPORTER, 'dynamodb:Query', '/Storage-Deliveries') ? true : undefined)),
  );
};
