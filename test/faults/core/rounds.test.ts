import { SendMessageCommand, StartMessageMoveTaskCommand } from '@aws-sdk/client-sqs';
import { describe, expect, it } from 'vitest';
import { createDeliveryRepository } from '../../../shared/adapters/deliveries/delivery-repository.ts';
import { webhook } from '../../support/api.ts';
import { newAlarmEvent } from '../../support/events.ts';
import { openSink } from '../../support/test-sink.ts';
import { until } from '../../support/until.ts';
import { useStarted } from '../../support/use-started.ts';
import { useFaultyStack } from '../support.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** An error that the SDK does not retry. */
const denied = { status: 400, type: 'AccessDeniedException', message: 'not authorized' } as const;

const harness = useFaultyStack();
const client = useStarted(() => harness.newClient());

describe('a round of attempts', () => {
  const queue = (name: string) => {
    const found = harness.stack.queues.get(name);
    if (!found) throw new Error(`There is no queue ${name}.`);
    return found;
  };
  const deadLettersOf = (type: string, part: string): string[] =>
    queue(`Delivery-${type}-DeadLetters`)
      .messages.map(({ body }) => body)
      .filter((body) => body.includes(part));
  /** Sets the receive count of a message to 100, and waits until SQS has moved it to the crashed queue. */
  const moveToCrashedQueue = async (name: string, part: string): Promise<void> => {
    await harness.advanceUntil(
      until(async () => {
        for (const message of queue(name).messages) if (message.body.includes(part)) message.receiveCount = 100;
        return queue('CrashedQueue').messages.some(({ body }) => body.includes(part)) || undefined;
      }),
    );
  };
  const webhookAt = (url: string) => client.create({ ...webhook, details: { url } });

  it.each([1, 2, 4])(
    'has nine attempts and one dead letter if the destination is down and the event is sent %i times',
    async (times) => {
      const sink = await openSink((response) => response.writeHead(500).end());
      const id = await webhookAt(sink.url);
      await harness.sendEvents(Array(times).fill(newAlarmEvent(client.tenant, [id])));
      await harness.advanceUntil(harness.delivery(client.tenant, id, 'failed'));
      await harness.drainQueue('Delivery-webhook');
      expect(sink.received).toHaveLength(9);
      expect(deadLettersOf('webhook', id)).toHaveLength(1);
    },
  );

  it('is followed by another only for its redriven dead letter: other copies are duplicates', async () => {
    let status = 410;
    const sink = await openSink((response) => response.writeHead(status).end());
    const id = await webhookAt(sink.url);
    const event = newAlarmEvent(client.tenant, [id]);
    await harness.sendEvents([event]);
    await harness.advanceUntil(harness.delivery(client.tenant, id, 'failed'));
    const [letter = ''] = deadLettersOf('webhook', id);
    expect(JSON.parse(letter)).toMatchObject({ notification_id: id, round: 2 });

    await harness.sendEvents([event]);
    await harness.drainQueue('Delivery-AlarmEvents');
    await harness.drainQueue('Delivery-webhook');
    expect(sink.received).toHaveLength(1);

    await harness.redrive('webhook');
    await until(async () => (sink.received.length === 2 ? true : undefined));
    await harness.advanceUntil(until(async () => (deadLettersOf('webhook', id).length === 1 ? true : undefined)));
    expect(JSON.parse(deadLettersOf('webhook', id)[0] ?? '')).toMatchObject({ round: 3 });
    await harness.sqs.send(
      new SendMessageCommand({ QueueUrl: queue('Delivery-webhook').settings.url, MessageBody: letter }),
    );
    await harness.drainQueue('Delivery-webhook');
    expect(sink.received).toHaveLength(2);

    status = 200;
    await harness.redrive('webhook');
    await harness.advanceUntil(harness.delivery(client.tenant, id, 'delivered'));
    expect(sink.received).toHaveLength(3);
  });

  it('does not start before the first attempt: a message that was in the crashed queue for a day is delivered', async () => {
    const sink = await openSink();
    const id = await webhookAt(sink.url);
    const recover = harness.injectFault(
      denied,
      ({ service, caller }) => service === 'dynamodb' && caller.includes('send-webhook'),
    );
    await harness.sendEvents([newAlarmEvent(client.tenant, [id])]);
    await moveToCrashedQueue('Delivery-webhook', id);
    recover();
    await harness.stack.advance(DAY_MS);
    await harness.sqs.send(new StartMessageMoveTaskCommand({ SourceArn: queue('CrashedQueue').settings.arn }));
    expect(await harness.advanceUntil(harness.delivery(client.tenant, id, 'delivered'))).toMatchObject({
      attempt_count: 1,
    });
    expect(sink.received).toHaveLength(1);
  });

  it('restarts if a retry message was in the crashed queue until the round expired', async () => {
    const sink = await openSink((response, _request, index) => response.writeHead(index === 0 ? 500 : 200).end());
    const id = await webhookAt(sink.url);
    await harness.sendEvents([newAlarmEvent(client.tenant, [id])]);
    await until(async () => queue('Delivery-webhook-Retries').messages.find(({ body }) => body.includes(id)));
    await moveToCrashedQueue('Delivery-webhook-Retries', id);
    await harness.stack.advance(DAY_MS + HOUR_MS);
    await harness.sqs.send(new StartMessageMoveTaskCommand({ SourceArn: queue('CrashedQueue').settings.arn }));
    expect(await harness.advanceUntil(harness.delivery(client.tenant, id, 'delivered'))).toMatchObject({
      attempt_count: 1,
      round: 2,
    });
    expect(deadLettersOf('webhook', id)).toEqual([]);
  });

  it('starts for at most one undelivered notice per notification per day', async () => {
    await harness.stayWithinDay();
    const owner = await harness.newClient();
    await owner.put('/account', { technical_contacts: ['gone@example.com'] });
    const sink = await openSink((response) => response.writeHead(410).end());
    const id = await owner.create({ ...webhook, details: { url: sink.url } });
    let emailCount = 0;
    const recover = harness.injectFault(
      { status: 400, type: 'MessageRejected', message: 'Address blacklisted.' },
      ({ service, body }) =>
        service === 'ses' &&
        body.includes('gone%40example.com') &&
        body.includes('was%20not%20delivered') &&
        ++emailCount > 0,
    );
    for (let count = 1; count <= 10; count++) {
      await harness.sendEvents([newAlarmEvent(owner.tenant, [id])]);
      await harness.advanceUntil(until(async () => (deadLettersOf('webhook', id).length === count ? true : undefined)));
      await harness.drainQueue('Delivery-technicalContactsEmail');
    }
    recover();
    expect(emailCount).toBe(1);
    expect(deadLettersOf('technicalContactsEmail', `${owner.tenant}:${id}:`)).toHaveLength(1);
  });

  it('ignores another event with the same ID, which is counted and recorded as a conflict', async () => {
    const sink = await openSink();
    const id = await webhookAt(sink.url);
    const event = newAlarmEvent(client.tenant, [id]);
    await harness.sendEvents([event]);
    await harness.advanceUntil(harness.delivery(client.tenant, id, 'delivered'));
    await harness.sendEvents([{ ...event, notification_plan: { id: 'np', critical_state: [id, 'ntUnknown'] } }]);
    await harness.drainQueue('Delivery-AlarmEvents');
    await harness.drainQueue('Delivery-webhook');
    const conflicts = () =>
      createDeliveryRepository(harness.documents, harness.table('Deliveries')).listConflicts({
        tenant: client.tenant,
        notificationId: id,
      });
    expect((await conflicts()).size).toBe(0);
    await harness.sendEvents([{ ...event, check: { id: 'another' } }]);
    await until(async () => harness.lines.find((line) => line.includes('conflict=1')));
    await harness.drainQueue('Delivery-webhook');
    expect((await conflicts()).size).toBe(1);
    expect((await harness.deliveries(client.tenant, id))[0]).toMatchObject({ status: 'delivered' });
    expect(sink.received).toHaveLength(1);
  });
});
