import { SendMessageCommand, StartMessageMoveTaskCommand } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AwsCall } from '../../bin/local/aws.ts';
import { MINUTE_MS } from '../../bin/local/cloudwatch/metric-store.ts';
import { createAccountRepository } from '../../shared/adapters/account-repository.ts';
import { type NotificationTypeId, notificationTypeIds } from '../../shared/contracts/notification-types.ts';
import { mailTags } from '../../shared/domain/mail-event.ts';
import type { Client } from '../support/api.ts';
import { goodDetails } from '../support/notifications.ts';
import { alarmEvent, until } from '../support/pipeline.ts';
import { openSink, type Sink } from '../support/sink.ts';
import { type MonitoredStack, startMonitoredStack, type Traffic } from './monitored-stack.ts';

/** Within so many minutes an alarm must fire. */
const LIMIT_MINUTES = 10;

/** Within so many minutes of the recovery every alarm must clear. */
const CLEAR_MINUTES = 40;

/** Limits of a day that no drill is to reach. */
const unlimited = { smsPerTenantDay: '100000', emailPerTenantDay: '100000', managedPerTenantDay: '100000' };

/** Refused for good: the SDK does not try again, so that a drill takes little time. */
const denied = { status: 400, type: 'AccessDeniedException', message: 'Denied' };
const internalError = { status: 500, type: 'InternalServerError', message: 'Internal error' };
const throttling = { status: 400, type: 'ThrottlingException', message: 'Rate exceeded' };

const from = (caller: string, service: string) => (call: AwsCall) =>
  call.caller === `local-${caller}` && call.service === service;

const sendsFrom = (caller: string) => (call: AwsCall) =>
  from(caller, 'sqs')(call) && call.action.startsWith('SendMessage');

/** Whether a call records that a delivery is done: the last write of a delivery. */
const recordsDelivered = ({ action, body }: AwsCall) =>
  /^(PutItem|UpdateItem|BatchWriteItem)$/.test(action) && body.includes('"S":"delivered"');

describe('an outage', () => {
  let world: MonitoredStack;
  let client: Client;
  let sink: Sink;
  let ids: Record<NotificationTypeId, string>;
  let isSinkUp = true;

  beforeAll(async () => {
    sink = await openSink((response) => response.writeHead(isSinkUp ? 200 : 500).end());
    world = await startMonitoredStack(unlimited, { 'send-incidentpager': 3 });
    client = await world.newClient();
    const accounts = createAccountRepository(world.documents, world.table('Accounts'));
    await accounts.setTechnicalContacts(client.tenant, ['contact@example.com']);
    const details = { ...goodDetails, webhook: { url: sink.url } };
    const created = notificationTypeIds.map(
      async (type) => [type, await client.create({ label: type, type, details: details[type] })] as const,
    );
    ids = idsByType(await Promise.all(created));
    await world.pass(2, traffic());
    expect(world.watch.firing).toEqual([]);
  });
  afterAll(async () => {
    sink.close();
    await world.stack.stop();
  });

  /** An alarm event, an email event and a request to the API at each step of time. */
  const traffic =
    ({
      everySeconds = 30,
      types = notificationTypeIds,
    }: {
      everySeconds?: number;
      types?: readonly NotificationTypeId[];
    } = {}): Traffic =>
    async (seconds) => {
      if (seconds % everySeconds !== 0) return;
      const event = newEvent(types);
      await world.sendEvents([event]);
      await sendBounce(event);
      await client.get(`/notifications/${ids.webhook}`);
    };

  const newEvent = (types: readonly NotificationTypeId[]) => {
    const timeMs = Math.floor(world.now());
    return alarmEvent(
      client.tenant,
      types.map((type) => ids[type]),
      { alarm: `al${timeMs}`, time: timeMs },
    );
  };

  /** An email event, of a delivery that was not made. */
  const sendBounce = async (event: ReturnType<typeof newEvent>) => {
    const tags = Object.entries(mailTags(event, ids.email)).map(([name, value]) => [name, [value]]);
    const mail = { messageId: 'mail-1', tags: Object.fromEntries(tags) };
    const MessageBody = JSON.stringify({ source: 'aws.ses', detail: { eventType: 'Bounce', mail } });
    const QueueUrl = world.stack.queues.get('MailEvents-Queue')?.settings.url;
    await world.sqs.send(new SendMessageCommand({ QueueUrl, MessageBody }));
  };

  /**
   * Lets an outage last until the alarms have fired, recovers, and waits until all are clear. No other alarm may fire before,
   * meanwhile or after, and none twice: an alarm that clears and fires again does not tell how long an outage lasts.
   */
  const drill = async (
    alarms: readonly string[],
    outage: () => (() => unknown)[],
    flow: Traffic = traffic(),
  ): Promise<void> => {
    const { watch } = world;
    expect(watch.firing).toEqual([]);
    const startMs = world.now();
    const minutesSince = (sinceMs: number) => Math.round((world.now() - sinceMs) / MINUTE_MS);
    const before = watch.transitions.length;
    const fired = () => watch.transitions.slice(before).filter(({ state }) => state === 'ALARM');
    const recoveries = outage();
    while (fired().length < alarms.length && minutesSince(startMs) < LIMIT_MINUTES) await world.pass(1, flow);
    for (const recover of recoveries.toReversed()) await recover();
    const recoveredMs = world.now();
    while (watch.firing.length > 0 && minutesSince(recoveredMs) < CLEAR_MINUTES) await world.pass(1, flow);
    expect(watch.firing).toEqual([]);
    expect(
      fired()
        .map(({ alarm }) => alarm)
        .toSorted(),
    ).toEqual(alarms.toSorted());
    const firedAfter = fired().map(({ alarm, atMs }) => `${alarm} ${((atMs - startMs) / MINUTE_MS).toFixed(1)}`);
  };

  it('of DynamoDB fires the alarms of a sender, also where only its last write fails, of the email events, and of the API', async () => {
    await drill(
      [
        'InternalErrors-send-webhook',
        'MessagesAging-send-webhook',
        'InternalErrors-send-incidentpager',
        'MessagesAging-send-incidentpager',
        'InternalErrors-record-mail-events',
        'MessagesAging-record-mail-events',
        'ApiErrors',
      ],
      () => [
        world.failing(denied, from('Delivery-send-webhook', 'dynamodb')),
        world.failing(
          denied,
          (call) => from('Delivery-send-incidentpager', 'dynamodb')(call) && recordsDelivered(call),
        ),
        world.failing(denied, from('MailEvents-record-mail-events', 'dynamodb')),
        world.failing(denied, from('Api-get-notification', 'dynamodb')),
      ],
      traffic({ types: ['webhook', 'incidentpager'] }),
    );
  });

  it('of DynamoDB fires the alarms of the dispatch', async () => {
    await drill(
      ['InternalErrors-dispatch-alarm-events', 'MessagesAging-dispatch-alarm-events'],
      () => [world.failing(denied, from('Delivery-dispatch-alarm-events', 'dynamodb'))],
      traffic({ types: ['webhook'] }),
    );
  });

  it('of SQS fires the alarms of the dispatch', async () => {
    await drill(
      ['InternalErrors-dispatch-alarm-events', 'MessagesAging-dispatch-alarm-events'],
      () => [world.failing(denied, sendsFrom('Delivery-dispatch-alarm-events'))],
      traffic({ types: ['webhook'] }),
    );
  });

  it('of SQS, SES or SNS fires the alarms of a sender', async () => {
    await drill(
      [
        'InternalErrors-send-webhook',
        'MessagesAging-send-webhook',
        'SendingFailures-email',
        'SendingFailures-technicalContactsEmail',
        'SendingFailures-sms',
        'SendingFailures-managed',
      ],
      () => {
        // Its destination fails, and its retries cannot be sent.
        isSinkUp = false;
        const recoverSink = () => {
          isSinkUp = true;
        };
        return [
          recoverSink,
          world.failing(denied, sendsFrom('Delivery-send-webhook')),
          world.failing(internalError, from('Delivery-send-email', 'ses')),
          world.failing(throttling, from('Delivery-send-technicalContactsEmail', 'ses')),
          world.failing(internalError, from('Delivery-send-sms', 'sns')),
          world.failing(throttling, from('Delivery-send-managed', 'sns')),
        ];
      },
      traffic({ types: ['webhook', 'email', 'technicalContactsEmail', 'sms', 'managed'] }),
    );
  });

  it('of the daily SES quota fires an alarm of its own', async () => {
    const quota = { status: 400, type: 'Throttling', message: 'Daily message quota exceeded.' };
    await drill(
      ['AwsQuotaExceeded'],
      () => [world.failing(quota, from('Delivery-send-email', 'ses'))],
      traffic({ types: ['email'] }),
    );
  });

  it('of Lambda fires the alarms of a sender that is throttled, and of the API, which tests by it', async () => {
    const events = traffic({ types: ['webhook'] });
    await drill(
      ['Throttles-send-webhook', 'QueueAge-webhook', 'ApiErrors'],
      () => [world.stack.lambda.throttle('Delivery-send-webhook')],
      async (seconds) => {
        await events(seconds);
        await client.post(`/notifications/${ids.webhook}/test`);
      },
    );
  });

  it('by one message that crashes its function, and by one that makes it time out, fires their alarms', async () => {
    const crash = (call: AwsCall) => {
      if (call.caller !== 'local-Delivery-send-atomfeed') return false;
      return world.stack.lambda.killOne('Delivery-send-atomfeed');
    };
    const hang = () => {
      const before = world.stack.endpoint.fault;
      world.stack.endpoint.fault = (call) =>
        from('Delivery-send-incidentpager', 'dynamodb')(call)
          ? { response: 'late', delayMs: Number.POSITIVE_INFINITY }
          : before(call);
      return () => {
        world.stack.endpoint.fault = before;
      };
    };
    await world.sendEvents([newEvent(['atomfeed', 'incidentpager'])]);
    await drill(
      ['Errors-send-atomfeed', 'Errors-send-incidentpager'],
      () => [world.failing(denied, crash), hang()],
      () => undefined,
    );
  });

  it('that makes SQS move a message to the Crashed queue fires an alarm, which clears after the redrive', async () => {
    const queue = world.stack.queues.get('Delivery-webhook');
    if (!queue) throw new Error('There is no queue of webhooks.');
    const recover = world.stack.lambda.throttle('Delivery-send-webhook');
    await world.sendEvents([newEvent(['webhook'])]);
    const [message] = await until(async () => (queue.counts.inFlight === 1 ? queue.messages : undefined));
    if (message) message.receives = 100;
    recover();
    const redrive = () =>
      world.sqs.send(new StartMessageMoveTaskCommand({ SourceArn: 'arn:aws:sqs:us-east-1:000000000000:Crashed' }));
    await drill(
      ['Crashed'],
      () => [redrive],
      () => undefined,
    );
    expect(queue.messages).toEqual([]);
  });
});

const idsByType = (entries: readonly (readonly [NotificationTypeId, string])[]): Record<NotificationTypeId, string> => {
  const found = new Map(entries);
  const of = (type: NotificationTypeId) => found.get(type) ?? '';
  return {
    email: of('email'),
    webhook: of('webhook'),
    incidentpager: of('incidentpager'),
    sms: of('sms'),
    incidentrouter: of('incidentrouter'),
    atomfeed: of('atomfeed'),
    technicalContactsEmail: of('technicalContactsEmail'),
    managed: of('managed'),
  };
};
