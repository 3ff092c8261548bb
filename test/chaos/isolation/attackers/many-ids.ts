import { ulid } from 'ulid';
import { newAlarmEvent } from '../../../support/events.ts';
import type { Attacker } from '../attacker.ts';

const EVENTS = 20;
/** The first are too many for an event of the maximum size, the second too many for any event. */
const COUNTS = [25_000, 8_000, 1_024];

export const manyIds: Attacker = {
  name: 'many-ids',
  description: 'with 20 events each of 25,000, 8,000 and 1,024 IDs of notifications, every 10 s',
  neighbor: 'alerts',
  isHanging: false,
  everyMs: 10_000,
  async prepare({ newClient, sendEvent }) {
    const { tenant } = await newClient();
    const plans = COUNTS.map((count) => Array.from({ length: count }, () => `nt${ulid()}`));
    return () =>
      Promise.all(plans.flatMap((ids) => Array.from({ length: EVENTS }, () => sendEvent(newAlarmEvent(tenant, ids)))));
  },
};
