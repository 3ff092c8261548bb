import { expect, it } from 'vitest';
import * as z from 'zod';
import { newAlarmEvent } from '../support/events.ts';
import { until } from '../support/until.ts';
import { throttled, useFaultyStack } from './support.ts';

/** The SDK does not repeat this error. */
const DENIED = { status: 403, type: 'AuthorizationError', message: 'Denied' };

const PUBLISHER = 'Outcomes-publish-outcomes';

const harness = useFaultyStack({ deliveryOutcomes: 'true' });

const outcome = z.looseObject({ tenant_id: z.string(), notification_id: z.string(), status: z.string() });

/** Returns the outcomes of a tenant, oldest first. */
const outcomesOf = async (tenant: string) =>
  (await harness.inbox())
    .flatMap((message) =>
      message.kind === 'managed' && message.topic.endsWith(':Outcomes')
        ? [outcome.parse(JSON.parse(message.text))]
        : [],
    )
    .filter(({ tenant_id }) => tenant_id === tenant)
    .toReversed();

/** Advances the clock until a tenant has this many outcomes. */
const untilOutcomes = (tenant: string, count: number) =>
  harness.advanceUntil(
    until(async () => {
      const found = await outcomesOf(tenant);
      return found.length >= count ? found : undefined;
    }),
  );

it('the pipeline learns how each delivery of an alert ends, and nothing of the notices about it', async () => {
  const { tenant, create, put } = await harness.newClient();
  await put('/account', { technical_contacts: ['oncall@example.com'] });
  const url = harness.stack.ready.inbox_url;
  const accepting = await create({ label: 'ok', type: 'webhook', details: { url: `${url}/webhooks/${tenant}` } });
  const rejecting = await create({
    label: 'gone',
    type: 'webhook',
    details: { url: `${url}/webhooks/${tenant}?respond=410` },
  });
  const event = newAlarmEvent(tenant, [accepting, rejecting]);
  await harness.sendEvents([event]);
  const found = await untilOutcomes(tenant, 2);
  const shared = { version: 1, tenant_id: tenant, type: 'webhook', event_id: event.event_id, attempts: 1 };
  expect(found).toHaveLength(2);
  expect(found).toContainEqual(
    expect.objectContaining({ ...shared, notification_id: accepting, status: 'delivered', reason: null }),
  );
  expect(found).toContainEqual(
    expect.objectContaining({ ...shared, notification_id: rejecting, status: 'failed', reason: 'http_status' }),
  );
  expect(JSON.stringify(found)).not.toMatch(/https?:|oncall/);
  await harness.drainQueue('Delivery-technicalContactsEmail');
  expect(await outcomesOf(tenant)).toHaveLength(2);
});

it('an outcome is published although the function is killed and SNS fails', async () => {
  const { tenant, create } = await harness.newClient();
  const url = `${harness.stack.ready.inbox_url}/webhooks/${tenant}`;
  const id = await create({ label: 'ok', type: 'webhook', details: { url } });
  let faults = 0;
  const recover = harness.injectFault(throttled, ({ caller, service }) => {
    if (caller !== `local-${PUBLISHER}` || service !== 'sns') return false;
    faults += 1;
    return faults === 1 ? harness.stack.lambda.killOne(PUBLISHER) : true;
  });
  await harness.sendEvents([newAlarmEvent(tenant, [id])]);
  await harness.advanceUntil(until(async () => (faults > 2 ? true : undefined)));
  expect(await outcomesOf(tenant)).toEqual([]);
  recover();
  expect(await untilOutcomes(tenant, 1)).toMatchObject([{ notification_id: id, status: 'delivered' }]);
});

it('records that cannot be published for an hour are given up, and those after them are published', async () => {
  const { tenant, create } = await harness.newClient();
  const url = `${harness.stack.ready.inbox_url}/webhooks/${tenant}`;
  const id = await create({ label: 'ok', type: 'webhook', details: { url } });
  const recover = harness.injectFault(
    DENIED,
    ({ caller, service }) => caller === `local-${PUBLISHER}` && service === 'sns',
  );
  await harness.sendEvents([newAlarmEvent(tenant, [id])]);
  const failed = harness.queue('Outcomes-Failed');
  await harness.advanceUntil(
    until(async () => failed.counts.visible > 0 || undefined),
    { stepMs: 60_000 },
  );
  recover();
  expect(failed.messages.map(({ body }) => JSON.parse(body))).toMatchObject([{ DDBStreamBatchInfo: { batchSize: 1 } }]);
  const later = newAlarmEvent(tenant, [id]);
  await harness.sendEvents([later]);
  expect(await untilOutcomes(tenant, 1)).toMatchObject([{ event_id: later.event_id }]);
});
