// No message of the simulation is received so often that SQS moves it to the crashed queue.
import { StartMessageMoveTaskCommand } from '@aws-sdk/client-sqs';
import { describe, expect, it } from 'vitest';
import { webhook } from '../support/api.ts';
import { newAlarmEvent } from '../support/events.ts';
import { openSink } from '../support/test-sink.ts';
import { until } from '../support/until.ts';
import { useStarted } from '../support/use-started.ts';
import { useFaultyStack } from './support.ts';

const DAY_MS = 86_400_000;

/** An error that the SDK does not retry. */
const denied = { status: 400, type: 'AccessDeniedException', message: 'not authorized' } as const;

const harness = useFaultyStack();
const client = useStarted(() => harness.newClient());

describe('a message that operators move back from the crashed queue', () => {
  /** Sets the receive count of a message to 100, and waits until SQS has moved it to the crashed queue. */
  const moveToCrashedQueue = async (name: string, part: string): Promise<void> => {
    await harness.advanceUntil(
      until(async () => {
        for (const message of harness.queue(name).messages) if (message.body.includes(part)) message.receiveCount = 100;
        return harness.queue('CrashedQueue').messages.some(({ body }) => body.includes(part)) || undefined;
      }),
    );
  };
  const webhookAt = (url: string) => client.create({ ...webhook, details: { url } });

  it('is delivered in its first round if it was there for a day and had no attempt', async () => {
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
    await harness.sqs.send(new StartMessageMoveTaskCommand({ SourceArn: harness.queue('CrashedQueue').settings.arn }));
    expect(await harness.advanceUntil(harness.delivery(client.tenant, id, 'delivered'))).toMatchObject({
      attempt_count: 1,
    });
    expect(sink.received).toHaveLength(1);
  });
});
