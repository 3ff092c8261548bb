import { SendMessageCommand } from '@aws-sdk/client-sqs';
import type { AwsCall } from 'local-aws/aws-service.ts';
import { MINUTE_MS } from 'local-aws/cloudwatch/metric-store.ts';
import { afterAll, beforeAll, describe, expect, it, type TestContext } from 'vitest';
import { moveMessages } from '../../bin/ops/redrive.ts';
import { byType, type NotificationTypeId, notificationTypeIds } from '../../shared/contracts/notification-types.ts';
import type { Client } from '../support/api.ts';
import { bounceBody } from '../support/email-events.ts';
import { newAlarmEvent } from '../support/events.ts';
import { validDetails } from '../support/notifications.ts';
import { type Sink, startSink } from '../support/sink.ts';
import { until } from '../support/until.ts';
import { type MonitoredStack, startMonitoredStack, type Traffic } from './monitored-stack.ts';

const FIRE_MINUTES = 10;

const CLEAR_MINUTES = 90;

/** Traffic continues for this time after the recovery. Alarms that still fire then must clear without traffic. */
const RECOVERY_TRAFFIC_MINUTES = 10;

/** The number of successful API requests at each step, in addition to the request that fails. */
const SUCCESSFUL_REQUESTS = 10;

const HIGH_LIMITS = { smsPerTenantPerDay: '100000', emailsPerTenantPerDay: '100000', managedPerTenantPerDay: '100000' };

/** The SDK retries neither this error nor `FAILED`, so drills are fast. */
const DENIED = { status: 400, type: 'AccessDeniedException', message: 'Denied' };
const FAILED = { status: 400, type: 'InternalFailure', message: 'Internal failure' };
const THROTTLED = { status: 400, type: 'ThrottlingException', message: 'Rate exceeded' };

const from = (caller: string, service: string) => (call: AwsCall) =>
  call.caller === `local-${caller}` && call.service === service;

const sendsFrom = (caller: string) => (call: AwsCall) =>
  from(caller, 'sqs')(call) && call.action.startsWith('SendMessage');

describe('the alarm drill', () => {
  let harness: MonitoredStack;
  let client: Client;
  let sink: Sink;
  let ids: Record<NotificationTypeId, string>;
  let isSinkUp = true;

  beforeAll(async () => {
    sink = await startSink((response) => response.writeHead(isSinkUp ? 200 : 500).end());
    harness = await startMonitoredStack({ ...HIGH_LIMITS, deliveryOutcomes: 'true', feedEndpoint: `${sink.url}/feed` });
    client = await harness.newClient();
    await client.put('/account', { technical_contacts: ['contact@example.com'] });
    const details = { ...validDetails, webhook: { url: sink.url } };
    const creating = notificationTypeIds.map(
      async (type) => [type, await client.create({ label: type, type, details: details[type] })] as const,
    );
    const created = new Map(await Promise.all(creating));
    ids = byType((type) => created.get(type) ?? '');
    await harness.advanceMinutes(2, traffic());
    expect(harness.watch.firing).toEqual([]);
  });
  afterAll(async () => {
    sink.close();
    await harness.stack.stop();
  });

  /** Sends an alarm event, an email event and an API request at each step. */
  const traffic =
    (types: readonly NotificationTypeId[] = notificationTypeIds): Traffic =>
    async () => {
      const event = newEvent(types);
      await harness.sendEvents([event]);
      await sendBounce(event);
      await client.get(`/notifications/${ids.webhook}`);
    };

  const once = (act: () => Promise<unknown>): Traffic => {
    let isDone = false;
    return async () => {
      if (!isDone) await act();
      isDone = true;
    };
  };

  const newEvent = (types: readonly NotificationTypeId[]) => {
    const timeMs = Math.floor(harness.now());
    return newAlarmEvent(
      client.tenant,
      types.map((type) => ids[type]),
      { alarm: `al${timeMs}`, timeMs },
    );
  };

  /** Sends an email event for a delivery that does not exist. */
  const sendBounce = async (event: ReturnType<typeof newEvent>, address = 'recipient@example.com') => {
    const MessageBody = bounceBody(event, ids.email, { destination: [address] });
    const QueueUrl = harness.stack.queues.get('EmailEvents-Queue')?.settings.url;
    await harness.sqs.send(new SendMessageCommand({ QueueUrl, MessageBody }));
  };

  /** An outage, and what is requested before, during and after it. */
  type Drill = {
    alarms: readonly string[];
    /** Starts the outage. @returns what ends it. Default: nothing */
    outage?: () => (() => unknown)[];
    requests?: Traffic;
    stepMs?: number;
    /** Alarms that fire while what waited is delivered. */
    afterwards?: readonly string[];
    /** Alarms that fire then only if what waited is spread over three minutes. */
    possible?: readonly string[];
  };

  /**
   * Runs an outage until its alarms have fired, recovers, and waits until all have cleared. No other alarm may fire,
   * and none may fire twice, because the duration of an alarm must match the duration of the outage.
   *
   * Annotates the test with the minutes until the alarms fired and cleared.
   */
  const drill = async (
    annotate: TestContext['annotate'],
    { alarms, outage = () => [], requests = () => undefined, stepMs, afterwards = [], possible = [] }: Drill,
  ): Promise<void> => {
    const { watch } = harness;
    expect(watch.firing).toEqual([]);
    const startMs = harness.now();
    const minutesSince = (sinceMs: number) => Math.round((harness.now() - sinceMs) / MINUTE_MS);
    const before = watch.transitions.length;
    const fired = () => watch.transitions.slice(before).filter(({ state }) => state === 'ALARM');
    const firedNames = () =>
      fired()
        .map(({ alarm }) => alarm)
        .toSorted();
    const recoveries = outage();
    while (fired().length < alarms.length && minutesSince(startMs) < FIRE_MINUTES)
      await harness.advanceMinutes(1, requests, stepMs);
    expect(firedNames()).toEqual(alarms.toSorted());
    for (const recover of recoveries.toReversed()) await recover();
    const recoveredMs = harness.now();
    while (watch.firing.length > 0 && minutesSince(recoveredMs) < CLEAR_MINUTES) {
      const isTraffic = minutesSince(recoveredMs) < RECOVERY_TRAFFIC_MINUTES;
      await harness.advanceMinutes(1, isTraffic ? requests : undefined, MINUTE_MS);
    }
    expect(watch.firing).toEqual([]);
    const certain = firedNames().filter((name) => !possible.includes(name));
    expect(certain).toEqual([...alarms, ...afterwards].toSorted());
    const minutes = fired().map(({ alarm, atMs }) => `${alarm} after ${((atMs - startMs) / MINUTE_MS).toFixed(1)} min`);
    await annotate(`${minutes.join(', ')}; all clear ${minutesSince(recoveredMs)} min after the recovery`);
  };

  const failWebhooks = () => {
    isSinkUp = false;
    return () => {
      isSinkUp = true;
    };
  };

  const deny = (caller: string, service: string) => harness.injectFault(DENIED, from(caller, service));

  /** Creates tenants with a notification, and returns an event of each. */
  const eventsOfTenants = (count: number, type: NotificationTypeId, details: object) =>
    Promise.all(
      Array.from({ length: count }, async () => {
        const { tenant, create } = await harness.newClient();
        const id = await create({ label: type, type, details });
        return newAlarmEvent(tenant, [id], { timeMs: Math.floor(harness.now()) });
      }),
    );

  it.for<[string, () => Drill | Promise<Drill>]>([
    [
      'the alarms of queue consumers and of the API when DynamoDB fails for a sender, email events and an operation',
      () => ({
        alarms: ['InternalErrors', 'MessagesAging', 'ApiErrors'],
        outage: () => [
          deny('Delivery-send-webhook', 'dynamodb'),
          deny('EmailEvents-record-email-events', 'dynamodb'),
          deny('Api-get-notification', 'dynamodb'),
        ],
        requests: async (seconds) => {
          const lists = Array.from({ length: SUCCESSFUL_REQUESTS }, () => client.get('/notifications'));
          const [, ...responses] = await Promise.all([traffic(['webhook'])(seconds), ...lists]);
          expect(responses.map(({ status }) => status)).toEqual(lists.map(() => 200));
        },
        afterwards: ['FirstAttemptsLate'],
      }),
    ],
    [
      'the alarms of dispatch when DynamoDB fails',
      () => ({
        alarms: ['InternalErrors', 'MessagesAging'],
        outage: () => [deny('Delivery-dispatch-alarm-events', 'dynamodb')],
        requests: traffic(['webhook']),
        afterwards: ['FirstAttemptsLate'],
      }),
    ],
    [
      'the alarms of senders when SQS, SES and SNS fail',
      () => ({
        alarms: ['InternalErrors', 'SendingFailures'],
        // The webhook destination fails, and the sender cannot send retries to SQS.
        outage: () => [
          failWebhooks(),
          harness.injectFault(DENIED, sendsFrom('Delivery-send-webhook')),
          harness.injectFault(FAILED, from('Delivery-send-email', 'ses')),
          harness.injectFault(FAILED, from('Delivery-send-sms', 'sns')),
        ],
        requests: traffic(['webhook', 'email', 'sms']),
      }),
    ],
    [
      'the alarms of senders when DynamoDB throttles the keys of several tenants, or SES or SNS throttles',
      async () => {
        const contactsEvent = newEvent(['technicalContactsEmail', 'managed']);
        const tenantEvents = await eventsOfTenants(4, 'atomfeed', validDetails.atomfeed);
        return {
          alarms: ['InternalErrors', 'SendingFailures'],
          outage: () => [
            harness.stack.dynamodb.throttle({
              caller: 'Delivery-send-atomfeed',
              operation: 'write',
              partitionKey: () => true,
            }),
            harness.injectFault(THROTTLED, from('Delivery-send-technicalContactsEmail', 'ses')),
            harness.injectFault(THROTTLED, from('Delivery-send-managed', 'sns')),
          ],
          // Sent once and retried once a minute, because the SDK waits in real time before it repeats a throttled call.
          requests: once(() => harness.sendEvents([contactsEvent, ...tenantEvents])),
          stepMs: MINUTE_MS,
        };
      },
    ],
    [
      'the alarms of a sender, and of the API for its tests, when Lambda throttles the sender',
      () => ({
        alarms: ['Throttles', 'QueueAge', 'ApiErrors'],
        outage: () => [harness.stack.lambda.throttle('Delivery-send-webhook')],
        requests: async (seconds) => {
          await traffic(['webhook'])(seconds);
          await client.post(`/notifications/${ids.webhook}/test`);
        },
        afterwards: ['FirstAttemptsLate'],
      }),
    ],
    [
      'an alarm when the retries of several tenants are received too late',
      async () => {
        const enable = harness.stack.eventSources.disable(harness.queue('Delivery-webhook-Retries').settings.arn);
        isSinkUp = false;
        await harness.sendEvents(await eventsOfTenants(2, 'webhook', { url: sink.url }));
        await harness.advanceMinutes(21, undefined, MINUTE_MS);
        isSinkUp = true;
        const outage = () => {
          enable();
          return [];
        };
        return { alarms: ['MessagesAging'], outage };
      },
    ],
    [
      'only the alarm of late first attempts when messages wait for longer than a minute',
      () => {
        const { arn } = harness.queue('Delivery-webhook').settings;
        let enable = (): void => undefined;
        let isOutage = false;
        let steps = 0;
        const recover = () => {
          isOutage = false;
          enable();
        };
        return {
          alarms: ['FirstAttemptsLate'],
          outage: () => {
            isOutage = true;
            return [recover];
          },
          // Messages are received every two minutes, before the alarm on waiting messages fires.
          requests: async (seconds) => {
            steps += 1;
            if (isOutage && steps % 4 === 1) enable = harness.stack.eventSources.disable(arn);
            if (isOutage && steps % 4 === 0) enable();
            await traffic(['webhook'])(seconds);
          },
        };
      },
    ],
    [
      'an alarm when records of the stream were given up, which clears after their message was deleted',
      () => ({
        alarms: ['FailuresNotReported'],
        outage: () => {
          const queue = harness.queue('Reports-Failed');
          queue.send({ body: '{"version":"1.0"}', attributes: new Map(), senderId: 'lambda' });
          return [() => queue.purge()];
        },
      }),
    ],
    [
      'the alarms of queue consumers when SNS refuses outcomes',
      () => ({
        alarms: ['InternalErrors', 'MessagesAging'],
        outage: () => [deny('Reports-report-deliveries', 'sns')],
        requests: traffic(['webhook']),
      }),
    ],
    [
      'the alarms of queue consumers and of unseen failures when the watcher of the stream cannot send reports',
      () => ({
        alarms: ['InternalErrors', 'FailuresNotSeen', 'MessagesAging'],
        // The records that waited are old when the watcher sends them.
        possible: ['ReportsLate'],
        outage: () => [failWebhooks(), deny('Reports-watch-deliveries', 'sqs')],
        requests: traffic(['webhook']),
      }),
    ],
    [
      'an alarm when senders record failures and the watcher of the stream sees none',
      () => ({
        alarms: ['Throttles', 'FailuresNotSeen'],
        outage: () => [failWebhooks(), harness.stack.lambda.throttle('Reports-watch-deliveries')],
        requests: traffic(['webhook']),
      }),
    ],
    [
      'only the alarm of late reports when the event source of their queue is disabled',
      () => ({
        alarms: ['ReportsLate'],
        outage: () => [
          failWebhooks(),
          harness.stack.eventSources.disable(harness.queue('Delivery-Reports').settings.arn),
        ],
        requests: traffic(['webhook']),
      }),
    ],
    [
      'an alarm for a message that crashes its function',
      () => {
        const crash = (call: AwsCall) =>
          call.caller === 'local-Delivery-send-atomfeed' && harness.stack.lambda.killOne('Delivery-send-atomfeed');
        const event = newEvent(['atomfeed']);
        return {
          alarms: ['FunctionErrors'],
          // An operator deletes the message.
          outage: () => [harness.injectFault(DENIED, crash), () => harness.queue('Delivery-atomfeed').purge()],
          requests: once(() => harness.sendEvents([event])),
        };
      },
    ],
    [
      'only the alarm of endpoints when the feed of the operators returns 500 to one alert',
      () => {
        const event = newEvent(['atomfeed']);
        return {
          alarms: ['EndpointFailures'],
          outage: () => [failWebhooks()],
          requests: once(() => harness.sendEvents([event])),
        };
      },
    ],
    [
      'an alarm when emails to 50 mailboxes bounce',
      () => {
        const addresses = Array.from({ length: 50 }, (_, index) => `gone${index}@example.com`);
        const requests = once(() => Promise.all(addresses.map((address) => sendBounce(newEvent(['email']), address))));
        return { alarms: ['EmailStops'], requests, stepMs: MINUTE_MS };
      },
    ],
    [
      'only the alarm of producer errors for a malformed event',
      () => {
        const malformed = { ...newEvent(['webhook']), details: { state: 'critical' } };
        const requests = once(() => harness.sendEvents([malformed]));
        return { alarms: ['ProducerErrors'], requests, stepMs: MINUTE_MS };
      },
    ],
  ])('fires %s', async ([, create], { annotate }) => drill(annotate, await create()));

  it('fires an alarm when SQS moves a message to the crashed queue, which clears after a redrive', async ({
    annotate,
  }) => {
    const queue = harness.queue('Delivery-webhook');
    const recover = harness.stack.lambda.throttle('Delivery-send-webhook');
    await harness.sendEvents([newEvent(['webhook'])]);
    const [message] = await until(() => queue.counts.inFlight === 1 && queue.messages);
    if (message) message.receiveCount = 100;
    recover();
    const redrive = () =>
      moveMessages(harness.sqs, harness.queue('CrashedQueue').settings.url, () => queue.settings.url);
    await drill(annotate, { alarms: ['CrashedMessages'], outage: () => [redrive] });
    expect(queue.messages).toEqual([]);
  });
});
