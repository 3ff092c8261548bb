import { describe, expect, it } from 'vitest';
import { webhook } from '../../support/api.ts';
import { newAlarmEvent } from '../../support/events.ts';
import { openSink } from '../../support/test-sink.ts';
import { until } from '../../support/until.ts';
import { useStarted } from '../../support/use-started.ts';
import { type CrashPoint, useFaultyStack } from '../support.ts';

/** Exceeds every lease and visibility timeout. */
const RECOVERY_MS = 200_000;

const sender = { caller: 'send-webhook' };
const claim = { ...sender, service: 'dynamodb', action: 'PutItem' };
const finalWrite = { ...claim, matchesBody: (body: string) => body.includes('"S":"delivered"') };
/** The write that releases a claim. */
const release = { ...claim, matchesBody: (body: string) => body.includes('AND lease_until_ms = :lease_until_ms"') };
const retryMessage = {
  ...sender,
  service: 'sqs',
  action: 'SendMessage',
  matchesBody: (body: string) => body.includes('Delivery-webhook-Retries"'),
};
const deadLetter = {
  ...sender,
  service: 'sqs',
  action: 'SendMessage',
  matchesBody: (body: string) => body.includes('Delivery-webhook-DeadLetters"'),
};

/** The write that stores the message of a failed delivery. */
const storeMessage = { ...claim, matchesBody: (body: string) => body.includes('"failed#') };

type Case = { name: string; point: CrashPoint; sends: number };

const harness = useFaultyStack();
const client = useStarted(() => harness.newClient());

describe('a sender that crashes', () => {
  /** Crashes the sender at `point` of a delivery to `url`. Resolves when it is delivered and no message is left. */
  const deliverAfterCrash = async (url: string, point: CrashPoint): Promise<void> => {
    const id = await client.create({ ...webhook, details: { url } });
    const crash = harness.crashOnce(point);
    await harness.sendEvents([newAlarmEvent(client.tenant, [id])]);
    await crash;
    await harness.stack.advance(RECOVERY_MS);
    await harness.advanceUntil(harness.delivery(client.tenant, id, 'delivered'));
    await harness.drainQueue('Delivery-webhook');
  };

  const deliveredCases: Case[] = [
    { name: 'before the claim', point: { ...claim, when: 'before' }, sends: 1 },
    { name: 'after the claim and before the send', point: { ...claim, when: 'after' }, sends: 1 },
    {
      name: 'after the send and before the record is written: the only case that sends an alert twice',
      point: { ...finalWrite, when: 'before' },
      sends: 2,
    },
    {
      name: 'after the record is written and before the acknowledgment',
      point: { ...finalWrite, when: 'after' },
      sends: 1,
    },
  ];

  it.each(deliveredCases)('does not lose an alert: $name', async ({ point, sends }) => {
    const sink = await openSink();
    await deliverAfterCrash(sink.url, point);
    expect(sink.received).toHaveLength(sends);
  });

  const retriedCases: Case[] = [
    { name: 'before the failure is recorded', point: { ...release, when: 'before' }, sends: 3 },
    { name: 'before the retry message is sent', point: { ...retryMessage, when: 'before' }, sends: 2 },
    {
      name: 'after the retry message is sent and before the acknowledgment',
      point: { ...retryMessage, when: 'after' },
      sends: 2,
    },
  ];

  it.each(retriedCases)('does not lose a retry: $name', async ({ point, sends }) => {
    const sink = await openSink((response, _request, index) => response.writeHead(index < sends - 1 ? 500 : 200).end());
    await deliverAfterCrash(sink.url, point);
    expect(sink.received).toHaveLength(sends);
  });

  const deadLetteredCases: (Case & { deadLetters: number })[] = [
    { name: 'before the message is stored', point: { ...storeMessage, when: 'before' }, sends: 2, deadLetters: 1 },
    {
      name: 'after the message is stored and before the dead letter is sent',
      point: { ...storeMessage, when: 'after' },
      sends: 2,
      deadLetters: 1,
    },
    { name: 'before the dead letter is sent', point: { ...deadLetter, when: 'before' }, sends: 2, deadLetters: 1 },
    {
      name: 'after the dead letter is sent and before the status is recorded',
      point: { ...deadLetter, when: 'after' },
      sends: 2,
      deadLetters: 2,
    },
    {
      name: 'after the status is recorded and before the acknowledgment',
      point: { ...release, matchesBody: (body) => body.includes('{"S":"failed"}'), when: 'after' },
      sends: 1,
      deadLetters: 1,
    },
  ];

  it.each(deadLetteredCases)(
    'dead-letters the alert, records it as failed and stores it once for redelivery: $name',
    async ({ point, sends, deadLetters }) => {
      let status = 410;
      const sink = await openSink((response) => response.writeHead(status).end());
      const id = await client.create({ ...webhook, details: { url: sink.url } });
      const before = await harness.depth(harness.deadLetterQueue('webhook'));
      const crash = harness.crashOnce(point);
      await harness.sendEvents([newAlarmEvent(client.tenant, [id])]);
      await crash;
      await harness.stack.advance(RECOVERY_MS);
      await harness.advanceUntil(harness.delivery(client.tenant, id, 'failed'));
      await harness.drainQueue('Delivery-webhook');
      expect(sink.received).toHaveLength(sends);
      expect((await harness.depth(harness.deadLetterQueue('webhook'))) - before).toBe(deadLetters);

      status = 200;
      const { body } = await client.post(`/notifications/${id}/redeliver`, { since: 0 });
      expect(body).toEqual({ count: 1, next_marker: null });
      await harness.advanceUntil(harness.delivery(client.tenant, id, 'delivered'));
      expect(sink.received).toHaveLength(sends + 1);
    },
  );
});

describe('a sender that dead-letters an alert', () => {
  it('keeps its claim, so that a duplicate is not delivered', async () => {
    const sink = await openSink((response) => response.writeHead(410).end());
    const id = await client.create({ ...webhook, details: { url: sink.url } });
    const event = newAlarmEvent(client.tenant, [id]);
    harness.interceptOnce(
      'sqs',
      ({ caller, body }) => caller.includes('send-webhook') && body.includes('Delivery-webhook-DeadLetters"'),
      async (call, serve) => {
        const lineCount = harness.lines.length;
        await harness.sendEvents([event]);
        await until(async () => harness.lines.slice(lineCount).find((line) => line.includes('busy=1')));
        return serve(call);
      },
    );
    await harness.sendEvents([event]);
    await harness.delivery(client.tenant, id, 'failed');
    expect(sink.received).toHaveLength(1);
  });
});

describe('dispatch that crashes', () => {
  const dispatch = { caller: 'dispatch' };
  const dispatchCases: { name: string; point: CrashPoint }[] = [
    {
      name: 'before it reads the notifications',
      point: { ...dispatch, service: 'dynamodb', action: 'BatchGetItem', when: 'before' },
    },
    {
      name: 'before it sends deliveries',
      point: { ...dispatch, service: 'sqs', action: 'SendMessageBatch', when: 'before' },
    },
    {
      name: 'after it sent the deliveries of one of two types',
      point: { ...dispatch, service: 'sqs', action: 'SendMessageBatch', when: 'after' },
    },
  ];

  it.each(dispatchCases)('delivers an event once to each notification: $name', async ({ point }) => {
    const sink = await openSink();
    const address = `crash-${point.when}-${point.action.toLowerCase()}@example.com`;
    const ids = [
      await client.create({ ...webhook, details: { url: sink.url } }),
      await client.create({ label: 'e', type: 'email', details: { address } }),
    ];
    const crash = harness.crashOnce(point);
    await harness.sendEvents([newAlarmEvent(client.tenant, ids)]);
    await crash;
    await harness.stack.advance(RECOVERY_MS);
    for (const id of ids) await harness.advanceUntil(harness.delivery(client.tenant, id, 'delivered'));
    await harness.drainQueue('Delivery-AlarmEvents');
    await harness.drainQueue('Delivery-webhook');
    await harness.drainQueue('Delivery-email');
    expect(sink.received).toHaveLength(1);
    const emails = (await harness.inbox()).filter((sent) => sent.kind === 'email' && sent.to.includes(address));
    expect(emails).toHaveLength(1);
  });
});
