import { SendMessageCommand } from '@aws-sdk/client-sqs';
import type { AwsCall } from 'local-aws/aws-service.ts';
import * as z from 'zod';
import { notificationTypeIds } from '../../shared/contracts/notification-types.ts';
import { type Role, roles } from '../../shared/contracts/token.ts';
import { senderName } from '../../shared/environment.ts';
import type { FaultyStack } from '../faults/support.ts';
import { bounceBody } from '../support/email-events.ts';
import { newAlarmEvent } from '../support/events.ts';
import { destinationsAt, incompressibleEntries, webhookNotification } from '../support/notifications.ts';
import { optOut } from '../support/opt-out-requests.ts';
import { startSink } from '../support/sink.ts';
import { until } from '../support/until.ts';

/** The data of a tenant that `exercise` created. Its tokens are valid only on the local stack that issued them. */
export type Exercised = {
  tenant: string;
  tokens: Record<Role | 'revoked', { id: string; token: string }>;
  /** IDs of the notifications, by type or purpose. */
  notifications: Record<string, string>;
  /** IDs of the events, by what happened to them. */
  events: Record<string, string>;
};

const issuedToken = z.object({ id: z.string(), token: z.string() });

/** More than 300 KB compressed, so that the content is stored in a chunk. */
const largeDetails = incompressibleEntries(105, 'x');

const HOUR_MS = 3_600_000;

const internalError = { status: 500, type: 'InternalServerError', message: '' } as const;

/** The queues that functions consume. */
const liveQueues = ({ stack }: FaultyStack) =>
  [...stack.queues.values()].filter(({ settings }) => !/DeadLetters|Crashed/.test(settings.name));

/** Advances the clock until all messages that functions consume are processed. */
export const settle = (world: FaultyStack): Promise<true> =>
  world.advanceUntil(
    until(
      async () => liveQueues(world).every(({ messages }) => messages.length === 0) && world.stack.lambda.busy() === 0,
    ),
  );

/**
 * Uses every feature as one tenant, so that at the end each kind of item and each kind of message is stored: a pending
 * delivery with its retry, an event and a delivery in their queues, a crashed message, dead letters.
 * The stack must have `retryDelayScale` 1.
 *
 * @returns what was created, a function that fixes the destinations and lets the functions continue, and one
 * that closes the destinations
 */
export const exercise = async (
  world: FaultyStack,
  tenant: string,
): Promise<{ data: Exercised; resume: () => void; close: () => void }> => {
  const { stack, sqs } = world;
  let isFixed = false;
  /** Responds with the status in the path until the functions may continue. */
  const sink = await startSink((response, { path }) =>
    response.writeHead(isFixed ? 200 : Number(path.slice(1, 4))).end('{"result":"success"}'),
  );
  const events: Record<string, string> = {};
  const queueNamed = (name: string) => {
    const queue = stack.queues.get(name);
    if (!queue) throw new Error(`There is no queue ${name}.`);
    return queue;
  };
  const holds: (() => void)[] = [];
  /** Makes matching calls of the functions fail, so that their messages stay in their queues. */
  const hold = (matches: (call: AwsCall) => boolean): void => {
    holds.push(world.injectFault(internalError, (call) => call.caller.startsWith('local-') && matches(call)));
  };

  // The first token is that of an operator. The others are issued by the API.
  const operator = await world.newClient('admin', tenant);
  const issue = async (role: Role) =>
    issuedToken.parse((await operator.post('/tokens', { label: `${role} of ${tenant}`, role })).body);
  const tokens = {
    admin: await issue('admin'),
    creator: await issue('creator'),
    observer: await issue('observer'),
    revoked: await issue(roles[0]),
  };
  await operator.delete(`/tokens/${tokens.revoked.id}`);
  await operator.get('/account');
  await operator.put('/account', { technical_contacts: ['oncall@example.com'] });
  await operator.post('/account/rotate-signing-secret');

  const notifications: Record<string, string> = {};
  const destinations = destinationsAt(`${sink.url}/200`);
  for (const type of notificationTypeIds) {
    const attributes = { label: `${type} of ${tenant}`, type, details: destinations[type], metadata: { team: 'db' } };
    notifications[type] = await operator.create(attributes);
  }
  const idempotent = { token: operator.token, headers: { 'idempotency-key': 'k1' } };
  const created = await world.call('POST', '/notifications', { ...idempotent, body: webhookNotification() });
  notifications.idempotent = created.headers.get('location')?.split('/').at(-1) ?? '';
  for (const [name, status] of [
    ['gone', 410],
    ['failing', 500],
    ['deleted', 200],
  ] as const) {
    const details = { url: `${sink.url}/${status}` };
    const webhook_request = name === 'failing' ? { body: { 'own body': '{{event_id}}' } } : undefined;
    notifications[name] = await operator.create({ label: name, type: 'webhook', details, webhook_request });
  }
  const { gone = '', failing = '', deleted = '', email = '', sms = '' } = notifications;
  const send = async (name: string, ids: readonly string[]) => {
    const event = newAlarmEvent(tenant, ids, { alarm: `al-${name}`, timeMs: stack.clock.now() });
    events[name] = event.event_id;
    await world.sendEvents([event]);
    return event;
  };
  const ended = (id: string, eventId: string, status: string) =>
    world.advanceUntil(
      until(async () =>
        (await world.deliveries(tenant, id)).some((found) => found.event_id === eventId && found.status === status),
      ),
    );

  const delivered = await send('delivered', [
    ...notificationTypeIds.map((type) => notifications[type] ?? ''),
    gone,
    deleted,
  ]);
  for (const id of [...notificationTypeIds.map((type) => notifications[type] ?? ''), deleted]) {
    await ended(id, delivered.event_id, 'delivered');
  }
  await ended(gone, delivered.event_id, 'failed');
  await operator.delete(`/notifications/${deleted}`);
  // The same ID with another content, which is a conflict.
  await world.sendEvents([{ ...delivered, check: { id: 'another' } }]);

  // Each reaches nobody, so it is escalated. The third is redelivered, and fails again.
  for (const name of ['redelivered later', 'redriven later', 'redelivered']) {
    const { event_id } = await send(name, [gone]);
    await ended(gone, event_id, 'failed');
  }
  await operator.post(`/notifications/${gone}/redeliver`, { event_id: events.redelivered });
  const bounced = await send('bounced', [email]);
  await ended(email, bounced.event_id, 'delivered');
  const sendTo = (name: string, body: string) =>
    sqs.send(
      new SendMessageCommand({
        QueueUrl: queueNamed(name).settings.url,
        MessageBody: body,
        MessageGroupId: tenant,
      }),
    );
  await sendTo('EmailEvents-Queue', bounceBody(bounced, email, { destination: Object.values(destinations.email) }));
  await ended(email, bounced.event_id, 'bounced');
  await sendTo('Delivery-AlarmEvents', JSON.stringify({ tenant_id: tenant, event_id: 'invalid' }));
  await operator.post(`/notifications/${email}/test`);
  await optOut(world, { tenant, address: 'former@example.com' });
  await settle(world);

  // One alert of the window is sent at once, the other is summarized: the window has just begun, so that both are in
  // it. Senders cache accounts for a minute.
  await operator.put('/account', { summaries: { email_after: 1, window_minutes: 60 } });
  await stack.advance(HOUR_MS - (stack.clock.now() % HOUR_MS) + 61_000);
  await Promise.all([send('before summary', [email]), send('summarized', [email])]);
  await world.advanceUntil(
    until(async () => (await world.deliveries(tenant, email)).some(({ status }) => status === 'summarized')),
  );
  await settle(world);
  await operator.put('/account', { summaries: {}, escalation_notifications: [sms] });
  await stack.advance(61_000);

  const large = { label: 'large', type: 'webhook', details: { ...largeDetails, url: `${sink.url}/200` } };
  notifications.large = await operator.create(large);
  await operator.put(`/notifications/${notifications.large}`, { label: 'larger' });

  // A sender fails until SQS moves its message to the crashed queue; the next message stays in its queue.
  const emails = queueNamed('Delivery-email');
  hold(({ caller, service }) => caller.endsWith(senderName('email')) && service === 'dynamodb');
  const { redrive } = emails;
  if (!redrive) throw new Error('The queue has no redrive policy.');
  emails.redrive = { ...redrive, maxReceiveCount: 1 };
  await send('crashed', [email]);
  await world.advanceUntil(until(async () => redrive.target.messages.some(({ groupId }) => groupId === tenant)));
  emails.redrive = redrive;
  await send('queued', [email]);
  await until(async () => emails.messages.some(({ receiveCount }) => receiveCount > 0));
  const alarmEvents = queueNamed('Delivery-AlarmEvents');
  await send('pending', [failing]);
  await world.attemptedDelivery(tenant, failing);
  await until(async () => queueNamed('Delivery-webhook-Retries').messages.length > 0);
  // Otherwise the retry changes what is stored after a few seconds.
  holds.push(stack.lambda.throttle(`Delivery-${senderName('webhook')}`));
  hold(({ caller, service }) => caller.endsWith('dispatch-alarm-events') && service === 'dynamodb');
  await send('not dispatched', [email]);
  await until(async () =>
    alarmEvents.messages.some(
      ({ body, receiveCount }) => body.includes(events['not dispatched'] ?? '') && receiveCount > 0,
    ),
  );
  await until(async () => stack.lambda.busy() === 0);
  const resume = (): void => {
    isFixed = true;
    for (const release of holds.reverse()) release();
  };
  return { data: { tenant, tokens, notifications, events }, resume, close: sink.close };
};
