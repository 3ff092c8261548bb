import { SendMessageCommand, StartMessageMoveTaskCommand } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AwsCall } from '../../bin/local/aws/aws-service.ts';
import { MINUTE_MS } from '../../bin/local/aws/cloudwatch/metric-store.ts';
import { createAccountRepository } from '../../shared/adapters/accounts/account-repository.ts';
import { type NotificationTypeId, notificationTypeIds } from '../../shared/contracts/notification-types.ts';
import { emailTags } from '../../shared/domain/email-event.ts';
import type { Client } from '../support/api.ts';
import { newAlarmEvent } from '../support/events.ts';
import { goodDetails } from '../support/notifications.ts';
import { type Sink, startSink } from '../support/sink.ts';
import { until } from '../support/until.ts';
import { type MonitoredStack, startMonitoredStack, type Traffic } from './monitored-stack.ts';

/** Within so many minutes an alarm must fire. */
const LIMIT_MINUTES = 10;

/** Within so many minutes of the recovery every alarm must clear. */
const CLEAR_MINUTES = 90;

/** For so many minutes after the recovery traffic flows: what is firing after that clears without it. */
const FLOW_MINUTES = 10;

/** Requests that other functions of the API answer well, for each that fails. */
const GOOD_REQUESTS = 10;

/** Limits of a day that no drill is to reach. */
const unlimited = { smsPerTenantPerDay: '100000', emailsPerTenantPerDay: '100000', managedPerTenantPerDay: '100000' };

/** Refused for good: the SDK does not try again, so that a drill takes little time. */
const denied = { status: 400, type: 'AccessDeniedException', message: 'Denied' };
const failure = { status: 400, type: 'InternalFailure', message: 'Internal failure' };
const dailyQuota = { status: 400, type: 'Throttling', message: 'Daily message quota exceeded.' };
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
    sink = await startSink((response) => response.writeHead(isSinkUp ? 200 : 500).end());
    world = await startMonitoredStack(unlimited, { 'record-email-events': 2 });
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
    return newAlarmEvent(
      client.tenant,
      types.map((type) => ids[type]),
      { alarm: `al${timeMs}`, timeMs: timeMs },
    );
  };

  /** An email event, of a delivery that was not made. */
  const sendBounce = async (event: ReturnType<typeof newEvent>) => {
    const tags = Object.entries(emailTags(event, ids.email)).map(([name, value]) => [name, [value]]);
    const mail = { messageId: 'mail-1', tags: Object.fromEntries(tags) };
    const MessageBody = JSON.stringify({ source: 'aws.ses', detail: { eventType: 'Bounce', mail } });
    const QueueUrl = world.stack.queues.get('EmailEvents-Queue')?.settings.url;
    await world.sqs.send(new SendMessageCommand({ QueueUrl, MessageBody }));
  };

  /**
   * Lets an outage last until the alarms have fired, recovers, and waits until all are clear. No other alarm may fire before,
   * meanwhile or after, and none twice: an alarm that clears and fires again does not tell how long an outage lasts. The result
   * says how many minutes it took.
   */
  const drill = async (
    alarms: readonly string[],
    outage: () => (() => unknown)[],
    flow: Traffic = traffic(),
    stepMs?: number,
  ): Promise<string> => {
    const { watch } = world;
    expect(watch.firing).toEqual([]);
    const startMs = world.now();
    const minutesSince = (sinceMs: number) => Math.round((world.now() - sinceMs) / MINUTE_MS);
    const before = watch.transitions.length;
    const fired = () => watch.transitions.slice(before).filter(({ state }) => state === 'ALARM');
    const firedNames = () =>
      fired()
        .map(({ alarm }) => alarm)
        .toSorted();
    const recoveries = outage();
    while (fired().length < alarms.length && minutesSince(startMs) < LIMIT_MINUTES) await world.pass(1, flow, stepMs);
    expect(firedNames()).toEqual(alarms.toSorted());
    for (const recover of recoveries.toReversed()) await recover();
    const recoveredMs = world.now();
    while (watch.firing.length > 0 && minutesSince(recoveredMs) < CLEAR_MINUTES) {
      await world.pass(1, minutesSince(recoveredMs) < FLOW_MINUTES ? flow : undefined, MINUTE_MS);
    }
    expect(watch.firing).toEqual([]);
    expect(firedNames()).toEqual(alarms.toSorted());
    const minutes = fired().map(({ alarm, atMs }) => `${alarm} after ${((atMs - startMs) / MINUTE_MS).toFixed(1)} min`);
    return `${minutes.join(', ')}; all clear ${minutesSince(recoveredMs)} min after the recovery`;
  };

  it('of DynamoDB fires the alarms of a sender, of the email events, and of the API, where one function of many fails', async ({
    annotate,
  }) => {
    const events = traffic({ types: ['webhook'] });
    const found = await drill(
      [
        'InternalErrors-send-webhook',
        'MessagesAging-send-webhook',
        'InternalErrors-record-email-events',
        'MessagesAging-record-email-events',
        'ApiErrors',
      ],
      () => [
        world.failing(denied, from('Delivery-send-webhook', 'dynamodb')),
        world.failing(denied, from('EmailEvents-record-email-events', 'dynamodb')),
        world.failing(denied, from('Api-get-notification', 'dynamodb')),
      ],
      async (seconds) => {
        const lists = Array.from({ length: GOOD_REQUESTS }, () => client.get('/notifications'));
        const [, ...answers] = await Promise.all([events(seconds), ...lists]);
        expect(answers.map(({ status }) => status)).toEqual(lists.map(() => 200));
      },
    );
    await annotate(found);
  });

  it('of DynamoDB for the last write alone fires the alarm of a sender: the alert is delivered, and not recorded', async ({
    annotate,
  }) => {
    const refused = (call: AwsCall) => {
      if (!from('Delivery-send-sms', 'dynamodb')(call) || !recordsDelivered(call)) return false;
      // The sender writes again while it has time: this is how it runs out of it without a wait.
      world.stack.lambda.spend('Delivery-send-sms', 6_000);
      return true;
    };
    const found = await drill(
      ['InternalErrors-send-sms'],
      () => [world.failing(denied, refused)],
      traffic({ types: ['sms'] }),
    );
    await annotate(found);
  });

  it('of DynamoDB fires the alarms of the dispatch', async ({ annotate }) => {
    const found = await drill(
      ['InternalErrors-dispatch-alarm-events', 'MessagesAging-dispatch-alarm-events'],
      () => [world.failing(denied, from('Delivery-dispatch-alarm-events', 'dynamodb'))],
      traffic({ types: ['webhook'] }),
    );
    await annotate(found);
  });

  it('of SQS fires the alarm of the dispatch', async ({ annotate }) => {
    const found = await drill(
      ['InternalErrors-dispatch-alarm-events'],
      () => [world.failing(denied, sendsFrom('Delivery-dispatch-alarm-events'))],
      traffic({ types: ['webhook'] }),
    );
    await annotate(found);
  });

  it('of SQS, SES or SNS fires the alarms of a sender, and of the daily SES quota another', async ({ annotate }) => {
    const found = await drill(
      ['InternalErrors-send-webhook', 'SendingFailures-email', 'SendingFailures-sms', 'AwsQuotaExceeded'],
      () => {
        // Its destination fails, and its retries cannot be sent.
        isSinkUp = false;
        const recoverSink = () => {
          isSinkUp = true;
        };
        return [
          recoverSink,
          world.failing(denied, sendsFrom('Delivery-send-webhook')),
          world.failing(failure, from('Delivery-send-email', 'ses')),
          world.failing(failure, from('Delivery-send-sms', 'sns')),
          world.failing(dailyQuota, from('Delivery-send-technicalContactsEmail', 'ses')),
        ];
      },
      traffic({ types: ['webhook', 'email', 'sms', 'technicalContactsEmail'] }),
    );
    await annotate(found);
  });

  it('of DynamoDB, which throttles the keys of several tenants, or of SES or SNS by throttling, fires the alarms of a sender', async ({
    annotate,
  }) => {
    const ofContacts = newEvent(['technicalContactsEmail', 'managed']);
    const ofTenants = await Promise.all(
      Array.from({ length: 4 }, async () => {
        const { tenant, create } = await world.newClient();
        const id = await create({ label: 'feed', type: 'atomfeed', details: goodDetails.atomfeed });
        return newAlarmEvent(tenant, [id], { timeMs: Math.floor(world.now()) });
      }),
    );
    let isSent = false;
    const found = await drill(
      ['InternalErrors-send-atomfeed', 'SendingFailures-technicalContactsEmail', 'SendingFailures-managed'],
      () => [
        world.stack.dynamodb.throttle({
          caller: 'Delivery-send-atomfeed',
          operation: 'write',
          partitionKey: () => true,
        }),
        world.failing(throttling, from('Delivery-send-technicalContactsEmail', 'ses')),
        world.failing(throttling, from('Delivery-send-managed', 'sns')),
      ],
      // Sent once, and tried again once a minute: the SDK waits before it repeats a throttled call, in real time.
      async () => {
        if (!isSent) await world.sendEvents([ofContacts, ...ofTenants]);
        isSent = true;
      },
      MINUTE_MS,
    );
    await annotate(found);
  });

  it('of Lambda fires the alarms of a sender that is throttled, and of the API, which tests by it', async ({
    annotate,
  }) => {
    const events = traffic({ types: ['webhook'] });
    const found = await drill(
      ['Throttles-send-webhook', 'QueueAge-webhook', 'ApiErrors'],
      () => [world.stack.lambda.throttle('Delivery-send-webhook')],
      async (seconds) => {
        await events(seconds);
        await client.post(`/notifications/${ids.webhook}/test`);
      },
    );
    await annotate(found);
  });

  it('by one message that crashes its function, and by one that makes it time out, fires their alarms', async ({
    annotate,
  }) => {
    const crash = (call: AwsCall) => {
      if (call.caller !== 'local-Delivery-send-atomfeed') return false;
      return world.stack.lambda.killOne('Delivery-send-atomfeed');
    };
    const hang = () => {
      const before = world.stack.endpoint.fault;
      world.stack.endpoint.fault = (call) =>
        from('EmailEvents-record-email-events', 'dynamodb')(call)
          ? { response: 'late', delayMs: Number.POSITIVE_INFINITY }
          : before(call);
      return () => {
        world.stack.endpoint.fault = before;
      };
    };
    const purge = (name: string) => world.stack.queues.get(name)?.purge();
    const event = newEvent(['atomfeed']);
    let isSent = false;
    const found = await drill(
      ['Errors-send-atomfeed', 'Errors-record-email-events'],
      // Somebody finds the messages and deletes them.
      () => [world.failing(denied, crash), hang(), () => purge('Delivery-atomfeed'), () => purge('EmailEvents-Queue')],
      async () => {
        if (!isSent) await Promise.all([world.sendEvents([event]), sendBounce(event)]);
        isSent = true;
      },
    );
    await annotate(found);
  });

  it('that makes SQS move a message to the Crashed queue fires an alarm, which clears after the redrive', async ({
    annotate,
  }) => {
    const queue = world.stack.queues.get('Delivery-webhook');
    if (!queue) throw new Error('There is no queue of webhooks.');
    const recover = world.stack.lambda.throttle('Delivery-send-webhook');
    await world.sendEvents([newEvent(['webhook'])]);
    const [message] = await until(async () => (queue.counts.inFlight === 1 ? queue.messages : undefined));
    if (message) message.receives = 100;
    recover();
    const redrive = () =>
      world.sqs.send(new StartMessageMoveTaskCommand({ SourceArn: 'arn:aws:sqs:us-east-1:000000000000:Crashed' }));
    const found = await drill(
      ['Crashed'],
      () => [redrive],
      () => undefined,
    );
    expect(queue.messages).toEqual([]);
    await annotate(found);
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
