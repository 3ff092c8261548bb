// The simulation checks who gets which notice, not within how many minutes.
import { describe, expect, it } from 'vitest';
import { webhook } from '../support/api.ts';
import { newAlarmEvent } from '../support/events.ts';
import type { InboxMessage } from '../support/pipeline.ts';
import { openSink } from '../support/test-sink.ts';
import { until } from '../support/until.ts';
import { useFaultyStack } from './support.ts';

const MINUTE_MS = 60_000;

const harness = useFaultyStack({ retryDelayScale: '1' });

/** Creates a tenant with one technical contact. */
const newTenant = async () => {
  const client = await harness.newClient();
  const contact = `contact-${client.tenant.toLowerCase()}@example.com`;
  await client.put('/account', { technical_contacts: [contact] });
  const isForContact = (message: InboxMessage) => message.kind === 'email' && message.to.includes(contact);
  const isForOperators = (message: InboxMessage) =>
    message.kind === 'managed' && message.text.includes(`Tenant: ${client.tenant}`);
  const emails = async () =>
    (await harness.inbox()).filter((message) => message.kind === 'email' && isForContact(message));
  const operatorMessages = async () => (await harness.inbox()).filter(isForOperators);
  const subjects = async () => (await emails()).map((email) => ('subject' in email ? email.subject : '')).toSorted();
  const webhookAt = (url: string, label: string) => client.create({ ...webhook, label, details: { url } });
  return { client, webhookAt, emails, subjects, operatorMessages };
};

/** Advances the clock in steps until the function returns a result. @returns the result and the minutes passed */
const minutesUntil = async <Result>(find: () => Promise<Result | undefined>, stepMs = 5_000) => {
  const startedAtMs = harness.stack.clock.now();
  const result = await harness.advanceUntil(until(find));
  return { result, minutes: (harness.stack.clock.now() - startedAtMs - stepMs) / MINUTE_MS };
};

/** Advances the clock by minutes while the pipeline runs. */
const advanceMinutes = async (minutes: number): Promise<void> => {
  const endsAtMs = harness.stack.clock.now() + minutes * MINUTE_MS;
  await harness.advanceUntil(until(async () => (harness.stack.clock.now() >= endsAtMs ? true : undefined)));
};

describe('an alert that reaches none of its destinations', () => {
  it('is reported within five minutes: a notice for each destination, and one escalation to contacts and operators', async () => {
    const { client, webhookAt, emails, subjects, operatorMessages } = await newTenant();
    const sink = await openSink((response) => response.writeHead(503).end());
    const ids = [await webhookAt(`${sink.url}/1`, 'First'), await webhookAt(`${sink.url}/2`, 'Second')];
    await harness.sendEvents([newAlarmEvent(client.tenant, ids)]);
    const { minutes } = await minutesUntil(async () =>
      (await subjects()).length >= 3 && (await operatorMessages()).length > 0 ? true : undefined,
    );
    expect(minutes).toBeLessThan(5);
    expect(minutes).toBeGreaterThan(2);
    await advanceMinutes(3);
    expect(await subjects()).toEqual([
      'CRITICAL on web-1: none of its 2 destinations could be reached',
      'Delivery to "First" is failing',
      'Delivery to "Second" is failing',
    ]);
    expect(await operatorMessages()).toMatchObject([
      { subject: `${client.tenant} CRITICAL on web-1: none of its 2 destinations could be reached` },
    ]);
    const notice = (await emails()).find((email) => 'subject' in email && email.subject?.includes('"First"'));
    const [firstId = ''] = ids;
    const history = `${harness.stack.ready.base_url}/notifications/${firstId}/deliveries -H "X-Auth-Token: $TOKEN"`;
    expect(notice).toMatchObject({ text: expect.stringContaining(history) });
  });
});
