import { MINUTE_MS } from 'local-aws/cloudwatch/metric-store.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newAlarmEvent } from '../support/events.ts';
import { type MonitoredStack, startMonitoredStack } from './monitored-stack.ts';

const PAUSED = { status: 400, type: 'MessageRejected', message: 'Sending paused for this account.' };
const ALERTS = 200;
const SENT_AT_ONCE = 5;
const HOUR_MINUTES = 60;

describe('a storm of alerts with summaries', () => {
  let harness: MonitoredStack;
  beforeAll(async () => {
    harness = await startMonitoredStack({ emailsPerTenantPerDay: '50' });
  });
  afterAll(() => harness.stack.stop());

  /** Returns the alarms that have fired. */
  const fired = () => harness.watch.transitions.flatMap(({ alarm, state }) => (state === 'ALARM' ? alarm : []));

  /** Creates a tenant with an email notification. Sends a storm to it at the start of an hour: no window or day ends. */
  const storm = async (address: string, summaries: object) => {
    await harness.advanceMinutes(HOUR_MINUTES - (Math.floor(harness.now() / MINUTE_MS) % HOUR_MINUTES));
    const { tenant, create, put } = await harness.newClient();
    await put('/account', { summaries });
    const id = await create({ label: 'On call', type: 'email', details: { address } });
    const events = Array.from({ length: ALERTS }, (_, index) =>
      newAlarmEvent(tenant, [id], { alarm: `al${index}`, timeMs: Math.floor(harness.now()) }),
    );
    await harness.sendEvents(events);
    return { tenant, id };
  };

  const emailsTo = async (address: string) =>
    (await harness.inbox()).filter((message) => message.kind === 'email' && message.to.includes(address));

  const summarizedOf = async ({ tenant, id }: { tenant: string; id: string }) =>
    (await harness.deliveries(tenant, id)).filter(({ status }) => status === 'summarized');

  it.each([
    ['after the first ones of a window', { email_after: SENT_AT_ONCE, window_minutes: 5 }, SENT_AT_ONCE, 7],
    ['above the daily limit', {}, 50, 62],
  ])('fires no alarm: the alerts %s are in one email', async (name, summaries, sentAtOnce, minutes) => {
    const address = `${name.replaceAll(' ', '-')}@example.com`;
    const notification = await storm(address, summaries);
    await harness.advanceMinutes(minutes);
    expect(await emailsTo(address)).toHaveLength(sentAtOnce + 1);
    expect(await summarizedOf(notification)).toHaveLength(ALERTS - sentAtOnce);
    expect(fired()).toEqual([]);
  });

  it('fires an alarm if SES does not send the summary, which arrives after the recovery', async () => {
    const address = 'paused@example.com';
    await storm(address, { email_after: SENT_AT_ONCE, window_minutes: 1 });
    await harness.advanceMinutes(0.5);
    const recover = harness.injectFault(PAUSED, ({ service }) => service === 'ses');
    await harness.advanceMinutes(11);
    expect(fired()).toContain('SendingFailures');
    recover();
    await harness.advanceMinutes(60);
    expect(await emailsTo(address)).toHaveLength(SENT_AT_ONCE + 1);
  });
});
