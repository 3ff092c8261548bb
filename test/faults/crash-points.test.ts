import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Client, webhook } from '../support/api.ts';
import { newAlarmEvent } from '../support/events.ts';
import { openSink } from '../support/test-sink.ts';
import { until } from '../support/until.ts';
import { type CrashPoint, type FaultyStack, startFaultyStack } from './support.ts';

/** Longer than any lease or visibility timeout, so that whatever a dead worker held is free, in ms. */
const FORGOTTEN = 200_000;

const sender = { caller: 'send-webhook' };
const claim = { ...sender, service: 'dynamodb', action: 'PutItem' };
const record = { ...sender, service: 'dynamodb', action: 'BatchWriteItem' };
/** The write that ends a claim, and lets others claim the delivery. */
const release = { ...claim, fits: (body: string) => body.includes('AND lease = :lease"') };
const queueOf = (part: string) => (body: string) => body.includes(part);
const retryMessage = {
  ...sender,
  service: 'sqs',
  action: 'SendMessage',
  fits: (body: string) => body.includes('Delivery-webhook-Retries"'),
};
const deadLetter = { ...sender, service: 'sqs', action: 'SendMessage', fits: queueOf('Delivery-webhook-DeadLetters"') };

type Case = { name: string; point: CrashPoint; sends: number };

describe('a worker that dies', () => {
  let world: FaultyStack;
  let client: Client;
  beforeAll(async () => {
    world = await startFaultyStack();
    client = await world.newClient();
  });
  afterAll(() => world.stack.stop());

  const deliveredCases: Case[] = [
    { name: 'before the claim', point: { ...claim, when: 'before' }, sends: 1 },
    { name: 'after the claim and before the send', point: { ...claim, when: 'after' }, sends: 1 },
    {
      name: 'after the send and before the record: the one window in which an alert goes out twice',
      point: { ...record, when: 'before' },
      sends: 2,
    },
    { name: 'after the record and before the ack', point: { ...record, when: 'after' }, sends: 1 },
  ];

  it.each(deliveredCases)('$name: the alert arrives', async ({ point, sends }) => {
    const sink = await openSink();
    const id = await client.create({ ...webhook, details: { url: sink.url } });
    const dead = world.crashOnce(point);
    await world.sendEvents([newAlarmEvent(client.tenant, [id])]);
    await dead;
    await world.stack.advance(FORGOTTEN);
    await world.hurried(world.delivery(client.tenant, id, 'delivered'));
    await world.drained('Delivery-webhook');
    expect(sink.received).toHaveLength(sends);
  });

  const retriedCases: Case[] = [
    { name: 'before the record of a failure', point: { ...release, when: 'before' }, sends: 3 },
    { name: 'before the message of the retry', point: { ...retryMessage, when: 'before' }, sends: 2 },
    { name: 'after the message of the retry and before the ack', point: { ...retryMessage, when: 'after' }, sends: 2 },
  ];

  it.each(retriedCases)('$name: the retry happens', async ({ point, sends }) => {
    const sink = await openSink((response, _request, index) => response.writeHead(index < sends - 1 ? 500 : 200).end());
    const id = await client.create({ ...webhook, details: { url: sink.url } });
    const dead = world.crashOnce(point);
    await world.sendEvents([newAlarmEvent(client.tenant, [id])]);
    await dead;
    await world.stack.advance(FORGOTTEN);
    await world.hurried(world.delivery(client.tenant, id, 'delivered'));
    await world.drained('Delivery-webhook');
    expect(sink.received).toHaveLength(sends);
  });

  const buriedCases: (Case & { letters: number })[] = [
    { name: 'before the dead letter', point: { ...deadLetter, when: 'before' }, sends: 2, letters: 1 },
    {
      name: 'after the dead letter and before its record',
      point: { ...deadLetter, when: 'after' },
      sends: 2,
      letters: 2,
    },
    {
      name: 'after the record of the dead letter and before the ack',
      point: { ...release, fits: (body) => body.includes('{"S":"dead"}'), when: 'after' },
      sends: 1,
      letters: 1,
    },
  ];

  it.each(buriedCases)(
    '$name: the alert is in the dead-letter queue, and its record says so',
    async ({ point, sends, letters }) => {
      const sink = await openSink((response) => response.writeHead(410).end());
      const id = await client.create({ ...webhook, details: { url: sink.url } });
      const before = await world.depth(world.deadLetterQueue('webhook'));
      const dead = world.crashOnce(point);
      await world.sendEvents([newAlarmEvent(client.tenant, [id])]);
      await dead;
      await world.stack.advance(FORGOTTEN);
      await world.hurried(world.delivery(client.tenant, id, 'failed'));
      await world.drained('Delivery-webhook');
      expect(sink.received).toHaveLength(sends);
      expect((await world.depth(world.deadLetterQueue('webhook'))) - before).toBe(letters);
    },
  );

  it('or only slowly buries an alert, is not overtaken by a duplicate of it', async () => {
    const sink = await openSink((response) => response.writeHead(410).end());
    const id = await client.create({ ...webhook, details: { url: sink.url } });
    const event = newAlarmEvent(client.tenant, [id]);
    const serve = world.stack.endpoint.services.get('sqs');
    if (!serve) throw new Error('There is no queue.');
    world.stack.endpoint.services.set('sqs', async (call) => {
      if (!call.caller.includes('send-webhook') || !call.body.includes('Delivery-webhook-DeadLetters"'))
        return serve(call);
      world.stack.endpoint.services.set('sqs', serve);
      const seen = world.lines.length;
      await world.sendEvents([event]);
      await until(async () => world.lines.slice(seen).find((line) => line.includes('busy=1')));
      return serve(call);
    });
    await world.sendEvents([event]);
    await world.delivery(client.tenant, id, 'failed');
    expect(sink.received).toHaveLength(1);
  });

  const dispatch = { caller: 'dispatch' };
  const dispatchCases: { name: string; point: CrashPoint }[] = [
    {
      name: 'before it looks up the notifications',
      point: { ...dispatch, service: 'dynamodb', action: 'BatchGetItem', when: 'before' },
    },
    { name: 'before it sends', point: { ...dispatch, service: 'sqs', action: 'SendMessageBatch', when: 'before' } },
    {
      name: 'halfway, after one of two types has been sent',
      point: { ...dispatch, service: 'sqs', action: 'SendMessageBatch', when: 'after' },
    },
  ];

  it.each(dispatchCases)('as the dispatch, $name: every notification hears of the event once', async ({ point }) => {
    const sink = await openSink();
    const address = `crash-${point.when}-${point.action.toLowerCase()}@example.com`;
    const ids = [
      await client.create({ ...webhook, details: { url: sink.url } }),
      await client.create({ label: 'm', type: 'email', details: { address } }),
    ];
    const dead = world.crashOnce(point);
    await world.sendEvents([newAlarmEvent(client.tenant, ids)]);
    await dead;
    await world.stack.advance(FORGOTTEN);
    for (const id of ids) await world.hurried(world.delivery(client.tenant, id, 'delivered'));
    await world.drained('Delivery-AlarmEvents');
    await world.drained('Delivery-webhook');
    await world.drained('Delivery-email');
    expect(sink.received).toHaveLength(1);
    const mails = (await world.inbox()).filter((one) => one.kind === 'email' && one.to.includes(address));
    expect(mails).toHaveLength(1);
  });
});
