import type { ServerResponse } from 'node:http';
import { SendMessageCommand } from '@aws-sdk/client-sqs';
import type { AwsCall, AwsFault } from '../../bin/local/aws/aws-service.ts';
import { createDeliveryRepository } from '../../shared/adapters/deliveries/delivery-repository.ts';
import {
  type NotificationTypeId,
  notificationTypeIds,
  notificationTypes,
} from '../../shared/contracts/notification-types.ts';
import { emailTags } from '../../shared/domain/email-event.ts';
import { claimedLock } from '../../shared/domain/incident.ts';
import { newNotificationId } from '../../shared/domain/notification-id.ts';
import { senderName } from '../../shared/environment.ts';
import type { FaultyStack } from '../faults/support.ts';
import type { Client } from '../support/api.ts';
import { deliveryMessage, newAlarmEvent } from '../support/events.ts';
import type { Received } from '../support/sink.ts';
import { until } from '../support/until.ts';
import type { Call } from './calls.ts';

/** Beyond any time that the stack's is moved to, ms. */
const FAR = Date.UTC(2100, 0);

const RECORDER = 'EmailEvents-record-email-events';

/** How all destinations behave: they take what comes, fail for now, or refuse it for good. */
export type Mood = 'take' | 'fail' | 'refuse';

const outletFaults: Record<Exclude<Mood, 'take'>, Record<'ses' | 'sns', AwsFault>> = {
  fail: {
    ses: { status: 400, type: 'AccountSendingPausedException', message: 'Paused' },
    sns: { status: 403, type: 'AuthorizationError', message: 'Not authorized' },
  },
  refuse: {
    ses: { status: 400, type: 'MessageRejected', message: 'Rejected' },
    sns: { status: 400, type: 'InvalidParameter', message: 'Invalid' },
  },
};

/** What SES and SNS answer in a mood; nothing where they take it. */
export const outletFault = (mood: Mood, { service }: AwsCall): AwsFault | undefined =>
  mood !== 'take' && (service === 'ses' || service === 'sns') ? outletFaults[mood][service] : undefined;

/** What a destination of HTTP answers in a mood: a webhook refuses for good by 410 alone, a pager and a router by 404. */
export const answerIn =
  (mood: Mood) =>
  (response: ServerResponse, { path }: Received): unknown =>
    mood === 'take'
      ? response.end('{"result":"success"}')
      : response.writeHead(mood === 'fail' ? 500 : path.startsWith('/webhook') ? 410 : 404).end();

/** What the pipeline is driven with. */
export type Hands = {
  world: FaultyStack;
  client: Client;
  calls: readonly Call[];
  setMood: (mood: Mood) => void;
};

/** Sends events through the whole pipeline: delivered, sent twice, of types that changed, failing, refused, malformed. */
export const drivePipeline = async (
  { world, client, calls, setMood }: Hands,
  ids: readonly string[],
): Promise<void> => {
  const { queues } = world.stack;
  const queueUrl = (name: string) => queues.get(`Delivery-${name}`)?.settings.url ?? '';
  const made = (caller: string, action: string, resource: string) =>
    calls.some(
      (call) => call.caller === `Delivery-${caller}` && call.action === action && call.resource.endsWith(resource),
    );
  const eachSender = (made: (type: NotificationTypeId) => boolean) =>
    world.hurried(until(async () => (notificationTypeIds.every(made) ? true : undefined)));

  // The first read of everybody fails (`ownFailure`), so all of them put a message back before they deliver it.
  const event = newAlarmEvent(client.tenant, ids);
  await world.sendEvents([event, '{not an event']);
  for (const id of ids) await world.hurried(world.ended(client.tenant, id, 1));

  // One queue does not take its message: the dispatch continues with what is left.
  const stopFailing = world.failing(
    { status: 500, type: 'InternalError', message: '' },
    ({ service, action, body }) =>
      service === 'sqs' &&
      action === 'SendMessageBatch' &&
      body.includes('Delivery-sms"') &&
      !made('dispatch-alarm-events', 'sqs:SendMessage', 'Delivery-AlarmEvents'),
  );
  await world.sendEvents([newAlarmEvent(client.tenant, ids)]);
  for (const id of ids) await world.hurried(world.ended(client.tenant, id, 2));
  stopFailing();

  // Another event with the same id is a conflict, which is noted beside each record.
  await world.sendEvents([{ ...event, check: { id: 'another' } }]);
  await eachSender((type) => world.lines.some((line) => line.includes(`type=${type}`) && line.includes('conflict=1')));

  // Once more, and to the senders of all types: each finds its own delivered, and sends the others on.
  for (const type of notificationTypeIds) {
    for (const id of ids) {
      const MessageBody = deliveryMessage(id, event);
      await world.sqs.send(new SendMessageCommand({ QueueUrl: queueUrl(type), MessageBody }));
    }
  }
  await eachSender((from) =>
    notificationTypeIds.every((to) => from === to || made(senderName(from), 'sqs:SendMessage', `:Delivery-${to}`)),
  );
  await eachSender((type) => made(senderName(type), 'dynamodb:GetItem', '/Storage-Deliveries'));

  // A notification that was deleted after the dispatch: its deliveries are canceled, which all types record together.
  for (const type of notificationTypeIds) {
    const MessageBody = deliveryMessage(newNotificationId(), event);
    await world.sqs.send(new SendMessageCommand({ QueueUrl: queueUrl(type), MessageBody }));
  }
  await eachSender((type) => made(senderName(type), 'dynamodb:BatchWriteItem', '/Storage-Deliveries'));

  // The email has bounced, which SES may report twice.
  const emailId = ids[notificationTypeIds.indexOf('email')] ?? '';
  const tags = Object.entries(emailTags(event, emailId)).map(([name, value]) => [name, [value]]);
  const mail = { messageId: 'message-1', tags: Object.fromEntries(tags) };
  const bounce = JSON.stringify({ source: 'aws.ses', detail: { eventType: 'Bounce', mail } });
  const QueueUrl = queues.get('EmailEvents-Queue')?.settings.url;
  for (let time = 0; time < 2; time++) await world.sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: bounce }));
  const hasRead = () => calls.some(({ caller, action }) => caller === RECORDER && action === 'dynamodb:GetItem');
  await world.hurried(until(async () => (hasRead() ? true : undefined)));

  // Another worker holds the locks of the incidents, and releases them.
  const contended = newAlarmEvent(client.tenant, ids);
  const deliveries = createDeliveryRepository(world.documents, world.table('Deliveries'));
  const locks = await Promise.all(
    ids.map((id) => deliveries.claimLock(claimedLock(contended, id, 'another', FAR), FAR)),
  );
  await world.sendEvents([contended]);
  await eachSender(
    (type) => !notificationTypes[type].hasIncidents || made(senderName(type), 'sqs:SendMessage', `:Delivery-${type}`),
  );
  for (const lock of locks) if (lock) await deliveries.releaseLock(lock, 0);

  setMood('fail');
  await world.sendEvents([newAlarmEvent(client.tenant, ids)]);
  await eachSender((type) => made(senderName(type), 'sqs:ChangeMessageVisibility', `:Delivery-${type}-Retries`));
  setMood('refuse');
  await eachSender((type) => made(senderName(type), 'sqs:SendMessage', `:Delivery-${type}-DeadLetters`));
};
