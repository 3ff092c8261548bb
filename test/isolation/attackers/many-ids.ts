import { ulid } from 'ulid';
import { newAlarmEvent } from '../../support/events.ts';
import type { Attacker } from '../attacker.ts';

/** The first are too many for an event of the maximum size, the second too many for any event. */
const COUNTS = [25_000, 8_000, 1_024];

export const manyIds: Attacker = {
  name: 'many-ids',
  description: 'with an event per second each of 25,000, 8,000 and 1,024 IDs of notifications',
  isHanging: false,
  everyMs: 1_000,
  async prepare({ newClient, sendEvent }) {
    const { tenant } = await newClient();
    const plans = COUNTS.map((count) => Array.from({ length: count }, () => `nt${ulid()}`));
    return () => Promise.all(plans.map((ids) => sendEvent(newAlarmEvent(tenant, ids))));
  },
};
