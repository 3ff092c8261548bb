import { SQSClient } from '@aws-sdk/client-sqs';
import { systemClock } from 'local-aws/clock.ts';
import { sqsService } from 'local-aws/sqs/protocol.ts';
import { startEndpoint, type TestEndpoint } from 'local-aws/test/support/endpoint.ts';
import { message, queueOf } from 'local-aws/test/support/queues.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { crashedEventAttributes, moveMessages, type Progress } from '../../bin/ops/redrive.ts';
import { CORRELATION_ATTRIBUTES } from '../../shared/adapters/queues.ts';

const deadLetters = queueOf(systemClock, { name: 'webhook-dead' });
const webhook = queueOf(systemClock, { name: 'webhook' });
const email = queueOf(systemClock, { name: 'email' });
const crashed = queueOf(systemClock, { name: 'crashed' });
const queues = [deadLetters, webhook, email, crashed];
for (const queue of [webhook, email]) queue.redrive = { target: crashed, maxReceiveCount: 1 };
const from = '/000000000000/webhook-dead';
const toWebhook = () => '/000000000000/webhook';

const service = sqsService(queues);
let local: TestEndpoint;
let sqs: SQSClient;

beforeAll(async () => {
  local = await startEndpoint({ sqs: service });
  sqs = new SQSClient({ ...local.client, useQueueUrlAsEndpoint: false });
});
afterAll(async () => {
  sqs.destroy();
  await local.stop();
});
beforeEach(() => {
  for (const queue of queues) queue.purge();
  local.endpoint.services.set('sqs', service);
  local.endpoint.fault = () => undefined;
});

const batch = z.looseObject({ Entries: z.array(z.looseObject({ Id: z.string(), MessageBody: z.string() })) });
const result = z.looseObject({});

const bodiesIn = (queue: typeof webhook) => queue.messages.map(({ body }) => body).toSorted();
const denied = { status: 403, type: 'AccessDenied', message: 'Not allowed.' };

describe('moving messages from a dead-letter queue', () => {
  it('keeps the body and the message group, and reports progress', async () => {
    for (let number = 0; number < 25; number++) deadLetters.send(message(`"grüße" ${number}`, `tenant-${number % 3}`));
    deadLetters.send(message('without a group'));
    const before = deadLetters.messages.map(({ body, groupId }) => [body, groupId]);
    const progress: Progress[] = [];
    expect(await moveMessages(sqs, from, toWebhook, { onProgress: (step) => progress.push(step) })).toBe(26);
    expect(webhook.messages.map(({ body, groupId }) => [body, groupId])).toEqual(expect.arrayContaining(before));
    expect([webhook.messages.length, deadLetters.messages.length]).toEqual([26, 0]);
    expect(progress.at(-1)).toEqual({ moved: 26, total: 26 });
  });

  it('keeps the attributes that say where an event comes from, not those of the failure', async () => {
    const attribute = (value: string) => ({ dataType: 'String', value });
    const kept = CORRELATION_ATTRIBUTES.map((name): [string, ReturnType<typeof attribute>] => [name, attribute(name)]);
    deadLetters.send({ ...message('{}'), attributes: new Map([['reason', attribute('malformed')], ...kept]) });
    await moveMessages(sqs, from, toWebhook);
    expect([...(webhook.messages[0]?.attributes ?? [])].toSorted()).toEqual(kept.toSorted());
  });

  it('sends in batches of at most 1 MiB', async () => {
    for (let number = 0; number < 7; number++) deadLetters.send(message(`${number}`.padEnd(400 * 1024, 'x'), 'acme'));
    const sizes: number[] = [];
    local.endpoint.fault = ({ action, body }) => {
      if (action === 'SendMessageBatch') sizes.push(body.length);
      return undefined;
    };
    expect(await moveMessages(sqs, from, toWebhook)).toBe(7);
    expect(webhook.messages).toHaveLength(7);
    expect(Math.max(...sizes)).toBeLessThan(1_048_576);
  });

  it('moves each message once, even if it fails again immediately', async () => {
    for (let number = 0; number < 12; number++) deadLetters.send(message(String(number)));
    local.endpoint.services.set('sqs', async (call) => {
      const response = await service(call);
      // The consumer dead-letters each message immediately.
      if (call.action === 'SendMessageBatch') {
        for (const { body } of webhook.messages) deadLetters.send(message(`${body}, failed again`));
        webhook.purge();
      }
      return response;
    });
    expect(await moveMessages(sqs, from, toWebhook)).toBe(12);
    expect(deadLetters.messages).toHaveLength(12);
  });

  it('loses no message when the queue rejects a batch', async () => {
    for (let number = 0; number < 12; number++) deadLetters.send(message(String(number)));
    const before = bodiesIn(deadLetters);
    local.endpoint.fault = ({ action }) => (action === 'SendMessageBatch' ? denied : undefined);
    await expect(moveMessages(sqs, from, toWebhook)).rejects.toThrow('Not allowed.');
    expect(bodiesIn(deadLetters)).toEqual(before);
    expect(webhook.messages).toEqual([]);
  });

  it('keeps exactly the messages of a batch that the queue rejects, and reports the reason', async () => {
    for (const body of ['fits', 'x'.repeat(100)]) deadLetters.send(message(body));
    local.endpoint.services.set('sqs', async (call) => {
      if (call.action !== 'SendMessageBatch') return service(call);
      const { Entries, ...rest } = batch.parse(JSON.parse(call.body.toString()));
      const isShort = ({ MessageBody }: (typeof Entries)[number]) => MessageBody.length < 100;
      const accepted = { ...rest, Entries: Entries.filter(isShort) };
      const response = await service({ ...call, body: Buffer.from(JSON.stringify(accepted)) });
      const Failed = Entries.filter((entry) => !isShort(entry)).map(({ Id }) => ({
        Id,
        Code: 'TooLong',
        Message: 'Too long',
      }));
      return { ...response, body: JSON.stringify({ ...result.parse(JSON.parse(response.body.toString())), Failed }) };
    });
    await expect(moveMessages(sqs, from, toWebhook)).rejects.toThrow(
      'SQS did not accept 1 message (TooLong, Too long): run the command again.',
    );
    expect(bodiesIn(deadLetters)).toEqual(['x'.repeat(100)]);
    expect(bodiesIn(webhook)).toEqual(['fits']);
  });

  it('moves the selected messages with their attributes, each to its own queue, and makes the others visible', async () => {
    const attributes = new Map([['next_attempt_at_ms', { dataType: 'Number', value: '7' }]]);
    for (let number = 0; number < 24; number++) deadLetters.send({ ...message(String(number)), attributes });
    const targetOf = ({ Body = '' }) =>
      Number(Body) % 2 === 0 ? `/000000000000/${Number(Body) > 9 ? 'email' : 'webhook'}` : undefined;
    expect(
      await moveMessages(sqs, from, targetOf, { attributesOf: ({ MessageAttributes = {} }) => MessageAttributes }),
    ).toBe(12);
    expect(bodiesIn(webhook)).toEqual(['0', '2', '4', '6', '8']);
    expect(email.messages.map((each) => each.attributes)).toEqual(Array(7).fill(attributes));
    expect(await deadLetters.receive({ maxMessages: 10 })).toHaveLength(10);
    expect(deadLetters.messages).toHaveLength(12);
  });

  it('makes messages visible again when it is interrupted by a signal', async () => {
    for (let number = 0; number < 12; number++) deadLetters.send(message(String(number)));
    const listeners = process.listeners('SIGINT');
    const targetOf = ({ Body = '' }) => {
      if (Body === '3') process.emit('SIGINT', 'SIGINT');
      return Body === '3' ? toWebhook() : undefined;
    };
    await expect(moveMessages(sqs, from, targetOf)).rejects.toThrow('Interrupted by SIGINT: run the command again.');
    expect(process.listeners('SIGINT')).toEqual(listeners);
    expect(await deadLetters.receive({ maxMessages: 10 })).toHaveLength(10);
    expect([deadLetters.messages.length, bodiesIn(webhook)]).toEqual([11, ['3']]);
  });

  it('leaves messages in both queues when it is interrupted between sending and deleting', async () => {
    deadLetters.send(message('a'));
    local.endpoint.fault = ({ action }) => (action === 'DeleteMessageBatch' ? denied : undefined);
    await expect(moveMessages(sqs, from, toWebhook)).rejects.toThrow('Not allowed.');
    expect([bodiesIn(deadLetters), bodiesIn(webhook)]).toEqual([['a'], ['a']]);
  });
});

describe('a crashed alarm event', () => {
  const crash = async (body: string, attributes: [name: string, value: string][] = []) => {
    const all = attributes.map(([name, value]) => [name, { dataType: 'String', value }] as const);
    webhook.send({ ...message(body, 'acme'), attributes: new Map(all) });
    const [id] = webhook.messages.map((sent) => sent.id);
    await webhook.receive({ maxMessages: 1, visibilitySeconds: 0 });
    expect(await webhook.receive({ maxMessages: 1 })).toEqual([]);
    return id;
  };
  const redriven = async () => {
    await moveMessages(sqs, '/000000000000/crashed', toWebhook, { attributesOf: crashedEventAttributes });
    expect(crashed.messages).toEqual([]);
    return webhook.messages.map(({ attributes }) =>
      Object.fromEntries([...attributes].map(([k, { value }]) => [k, value])),
    );
  };

  it('keeps the message ID that its producer knows, and its trace', async () => {
    const id = await crash('{}', [
      ['traceparent', '00-a'],
      ['other', 'x'],
    ]);
    expect(await redriven()).toEqual([{ traceparent: '00-a', producer_message_id: id }]);
  });

  it('keeps the first message ID if it crashes again', async () => {
    await crash('{}', [['producer_message_id', 'first']]);
    expect(await redriven()).toEqual([{ producer_message_id: 'first' }]);
  });

  it('is redriven even if the largest message cannot have another attribute', async () => {
    await crash('x'.repeat(1_048_576 - 'acme'.length));
    expect(await redriven()).toEqual([{}]);
  });
});
