import { SendMessageCommand, StartMessageMoveTaskCommand } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createAccountRepository } from '../../shared/adapters/accounts/account-repository.ts';
import { createDeliveryRepository } from '../../shared/adapters/deliveries/delivery-repository.ts';
import { type Client, webhook } from '../support/api.ts';
import { deliveryMessage, newAlarmEvent } from '../support/events.ts';
import { openSink } from '../support/test-sink.ts';
import { until } from '../support/until.ts';
import { type FaultyStack, startFaultyStack, throttled } from './support.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

describe('a round of attempts', () => {
  let world: FaultyStack;
  let client: Client;
  beforeAll(async () => {
    world = await startFaultyStack();
    client = await world.newClient();
  });
  afterAll(() => world.stack.stop());

  const queue = (name: string) => {
    const found = world.stack.queues.get(name);
    if (!found) throw new Error(`There is no queue ${name}.`);
    return found;
  };
  const lettersOf = (type: string, part: string): string[] =>
    queue(`Delivery-${type}-DeadLetters`)
      .messages.map(({ body }) => body)
      .filter((body) => body.includes(part));
  /** Resolves when SQS has moved a message, which comes to its hundredth receive, to the queue of crashed ones. */
  const crashed = async (name: string, part: string): Promise<void> => {
    await world.hurried(
      until(async () => {
        for (const message of queue(name).messages) if (message.body.includes(part)) message.receives = 100;
        return queue('Crashed').messages.some(({ body }) => body.includes(part)) || undefined;
      }),
    );
  };
  const webhookAt = (url: string) => client.create({ ...webhook, details: { url } });

  it.each([1, 2, 4])(
    'is one of nine attempts and one dead letter to a destination that is down, however often its event comes: %i times',
    async (times) => {
      const sink = await openSink((response) => response.writeHead(500).end());
      const id = await webhookAt(sink.url);
      await world.sendEvents(Array(times).fill(newAlarmEvent(client.tenant, [id])));
      await world.hurried(world.delivery(client.tenant, id, 'failed'));
      await world.drained('Delivery-webhook');
      expect(sink.received).toHaveLength(9);
      expect(lettersOf('webhook', id)).toHaveLength(1);
    },
  );

  it('is followed by the next only for its dead letter: copies of the event and of the letter are duplicates', async () => {
    let status = 410;
    const sink = await openSink((response) => response.writeHead(status).end());
    const id = await webhookAt(sink.url);
    const event = newAlarmEvent(client.tenant, [id]);
    await world.sendEvents([event]);
    await world.hurried(world.delivery(client.tenant, id, 'failed'));
    const [letter = ''] = lettersOf('webhook', id);
    expect(JSON.parse(letter)).toMatchObject({ notification_id: id, round: 2 });

    await world.sendEvents([event]);
    await world.drained('Delivery-AlarmEvents');
    await world.drained('Delivery-webhook');
    expect(sink.received).toHaveLength(1);

    await world.redrive('webhook');
    await until(async () => (sink.received.length === 2 ? true : undefined));
    await world.hurried(until(async () => (lettersOf('webhook', id).length === 1 ? true : undefined)));
    expect(JSON.parse(lettersOf('webhook', id)[0] ?? '')).toMatchObject({ round: 3 });
    await world.sqs.send(
      new SendMessageCommand({ QueueUrl: queue('Delivery-webhook').settings.url, MessageBody: letter }),
    );
    await world.drained('Delivery-webhook');
    expect(sink.received).toHaveLength(2);

    status = 200;
    await world.redrive('webhook');
    await world.hurried(world.delivery(client.tenant, id, 'delivered'));
    expect(sink.received).toHaveLength(3);
  });

  it('has not begun while nothing could be attempted: what SQS moved a day ago is delivered at its first redrive', async () => {
    const sink = await openSink();
    const id = await webhookAt(sink.url);
    const recover = world.failing(
      throttled,
      ({ service, caller }) => service === 'dynamodb' && caller.includes('send-webhook'),
    );
    await world.sendEvents([newAlarmEvent(client.tenant, [id])]);
    await crashed('Delivery-webhook', id);
    recover();
    await world.stack.advance(DAY);
    await world.sqs.send(new StartMessageMoveTaskCommand({ SourceArn: queue('Crashed').settings.arn }));
    expect(await world.hurried(world.delivery(client.tenant, id, 'delivered'))).toMatchObject({ attempt_count: 1 });
    expect(sink.received).toHaveLength(1);
  });

  it('starts anew where SQS held the message of a retry until its time was over', async () => {
    const sink = await openSink((response, _request, index) => response.writeHead(index === 0 ? 500 : 200).end());
    const id = await webhookAt(sink.url);
    await world.sendEvents([newAlarmEvent(client.tenant, [id])]);
    await until(async () => queue('Delivery-webhook-Retries').messages.find(({ body }) => body.includes(id)));
    await crashed('Delivery-webhook-Retries', id);
    await world.stack.advance(DAY + HOUR);
    await world.sqs.send(new StartMessageMoveTaskCommand({ SourceArn: queue('Crashed').settings.arn }));
    expect(await world.hurried(world.delivery(client.tenant, id, 'delivered'))).toMatchObject({
      attempt_count: 1,
      round: 2,
    });
    expect(lettersOf('webhook', id)).toEqual([]);
  });

  it('ends after four days in which our own account had no quota, and that is our fault', async () => {
    const address = 'quota@example.com';
    const id = await client.create({ label: 'm', type: 'email', details: { address } });
    const recover = world.failing(
      { status: 400, type: 'Throttling', message: 'Daily message quota exceeded.' },
      ({ service, body }) => service === 'ses' && body.includes(encodeURIComponent(address)),
    );
    const refused = () => world.lines.filter((line) => line.includes(id) && line.includes('aws_quota_exceeded')).length;
    await world.sendEvents([newAlarmEvent(client.tenant, [id])]);
    await until(async () => refused() || undefined);
    await world.stack.advance(DAY + HOUR);
    const before = refused();
    await world.hurried(until(async () => (refused() > before ? true : undefined)));
    expect(lettersOf('email', id)).toEqual([]);
    await world.stack.advance(4 * DAY);
    const dead = await world.hurried(world.deadLetter('email', (body) => body.includes(id)));
    recover();
    expect(dead.attributes).toMatchObject({ reason: 'expired', cause: 'service', attempts: '0' });
  });

  it('that expires is the fault of whoever failed last', async () => {
    const sink = await openSink((response) => response.writeHead(500).end());
    const id = await webhookAt(sink.url);
    await world.sendEvents([newAlarmEvent(client.tenant, [id])]);
    await sink.wait(1);
    await until(async () => queue('Delivery-webhook-Retries').messages.find(({ body }) => body.includes(id)));
    await world.stack.advance(DAY + HOUR);
    const dead = await world.hurried(world.deadLetter('webhook', (body) => body.includes(id)));
    expect(dead.attributes).toMatchObject({ reason: 'expired', cause: 'destination' });
  });

  it('of a notice that fails is the only one of its day', async () => {
    const owner = await world.newClient();
    await createAccountRepository(world.documents, world.table('Accounts')).setTechnicalContacts(owner.tenant, [
      'gone@example.com',
    ]);
    const sink = await openSink((response) => response.writeHead(410).end());
    const id = await owner.create({ ...webhook, details: { url: sink.url } });
    let emails = 0;
    const recover = world.failing(
      { status: 400, type: 'MessageRejected', message: 'Address blacklisted.' },
      ({ service, body }) => service === 'ses' && body.includes('gone%40example.com') && ++emails > 0,
    );
    for (let count = 1; count <= 10; count++) {
      await world.sendEvents([newAlarmEvent(owner.tenant, [id])]);
      await world.hurried(until(async () => (lettersOf('webhook', id).length === count ? true : undefined)));
      await world.drained('Delivery-technicalContactsEmail');
    }
    recover();
    expect(emails).toBe(1);
    expect(lettersOf('technicalContactsEmail', id)).toHaveLength(1);
  });

  it('ends although its notice cannot be queued, which is counted', async () => {
    const sink = await openSink((response) => response.writeHead(410).end());
    const id = await webhookAt(sink.url);
    const recover = world.failing(
      { status: 500, type: 'InternalError', message: '' },
      ({ service, caller, body }) =>
        service === 'sqs' && caller.includes('send-webhook') && body.includes('Delivery-technicalContactsEmail"'),
    );
    await world.sendEvents([newAlarmEvent(client.tenant, [id])]);
    await world.hurried(world.delivery(client.tenant, id, 'failed'));
    await until(async () => world.lines.find((line) => line.includes('notices_not_queued=1')));
    recover();
    expect(lettersOf('webhook', id)).toHaveLength(1);
  });

  it('is not joined by another event with the same id, which is counted and noted on the record', async () => {
    const sink = await openSink();
    const id = await webhookAt(sink.url);
    const event = newAlarmEvent(client.tenant, [id]);
    await world.sendEvents([event]);
    await world.hurried(world.delivery(client.tenant, id, 'delivered'));
    await world.sendEvents([{ ...event, notification_plan: { id: 'np', critical_state: [id, 'ntUnknown'] } }]);
    await world.drained('Delivery-AlarmEvents');
    await world.drained('Delivery-webhook');
    const noted = () =>
      createDeliveryRepository(world.documents, world.table('Deliveries')).conflicts({
        tenant: client.tenant,
        notificationId: id,
      });
    expect((await noted()).size).toBe(0);
    await world.sendEvents([{ ...event, check: { id: 'another' } }]);
    await until(async () => world.lines.find((line) => line.includes('conflict=1')));
    await world.drained('Delivery-webhook');
    expect((await noted()).size).toBe(1);
    expect((await world.deliveries(client.tenant, id))[0]).toMatchObject({ status: 'delivered' });
    expect(sink.received).toHaveLength(1);
  });

  it('is of a message that carries neither the plan nor a destination, but the other notifications of its event', async () => {
    const sink = await openSink();
    const ids = await Promise.all([webhookAt(sink.url), webhookAt(sink.url), webhookAt(sink.url)]);
    const seen: string[] = [];
    const watch = world.failing(undefined, ({ service, action, body }) => {
      if (service === 'sqs' && action === 'SendMessageBatch') seen.push(body.toString('utf8'));
      return false;
    });
    const event = newAlarmEvent(client.tenant, [...ids, 'nt01ARZ3NDEKTSV4RRFFQ69G5FAV']);
    await world.sendEvents([event]);
    await sink.wait(3);
    watch();
    const bodies = seen.flatMap((text): { MessageBody: string }[] =>
      JSON.parse(text).Entries.filter(({ MessageBody }: { MessageBody: string }) =>
        MessageBody.includes('notification_id'),
      ),
    );
    const { notification_plan: _plan, ...rest } = event;
    for (const { MessageBody } of bodies) {
      const message = JSON.parse(MessageBody);
      expect(message.siblings.toSorted()).toEqual(ids.filter((id) => id !== message.notification_id).toSorted());
      expect(message.event).toEqual(rest);
    }
    expect(bodies).toHaveLength(3);
    expect(deliveryMessage(ids[0] ?? '', event)).not.toContain('notification_plan');
  });
});
