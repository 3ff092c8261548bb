import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '../support/api.ts';
import { newAlarmEvent } from '../support/events.ts';
import type { connectPipeline } from '../support/pipeline.ts';

const ALARMS = 2_000;
const EVENTS_PER_SEND = 10;
const STATES = ['CRITICAL', 'WARNING', 'CRITICAL', 'OK'] as const;

/** The number of alerts of a window that go out at once, by each notification. */
export const SUMMARIES = { email_after: 10, sms_after: 3 };

/**
 * Creates an email and an SMS notification of a tenant with summaries.
 *
 * @returns a function that sends `events` events of 2,000 alarms to both within `seconds`
 */
export const stormyTenant = async (
  client: Client,
  pipeline: Pick<ReturnType<typeof connectPipeline>, 'sendEvents'>,
  { address, phoneNumber, windowMinutes }: { address: string; phoneNumber: string; windowMinutes: number },
): Promise<(events: number, seconds: number) => Promise<void>> => {
  await client.put('/account', { summaries: { ...SUMMARIES, window_minutes: windowMinutes } });
  const ids = [
    await client.create({ label: 'email', type: 'email', details: { address } }),
    await client.create({ label: 'sms', type: 'sms', details: { phone_number: phoneNumber } }),
  ];
  return async (events, seconds) => {
    const startMs = Date.now();
    for (let count = 0; count < events; count += EVENTS_PER_SEND) {
      const waitMs = startMs + (count * seconds * 1_000) / events - Date.now();
      if (waitMs > 0) await sleep(waitMs);
      const batch = Array.from({ length: Math.min(EVENTS_PER_SEND, events - count) }, (_, index) =>
        newAlarmEvent(client.tenant, ids, {
          alarm: `al${(count + index) % ALARMS}`,
          state: STATES[Math.floor((count + index) / ALARMS) % STATES.length] ?? 'CRITICAL',
        }),
      );
      await pipeline.sendEvents(batch);
    }
  };
};
