import { newAlarmEvent } from '../support/events.ts';
import { webhookNotification } from '../support/notifications.ts';
import { type Arena, createWebhook } from './arena.ts';
import type { Attacker } from './attacker.ts';

/** Does once what an attacker could delay. Rejects if it fails. */
export type Probe = () => Promise<unknown>;

/** Creates the neighbor of an attacker: what it sends, and waits for. */
export const neighbors: Readonly<Record<Attacker['neighbor'], (arena: Arena) => Promise<Probe>>> = {
  async alerts({ newClient, sendEvent, arrivalOf, origin }) {
    const client = await newClient();
    const id = await createWebhook(client, `${origin}/neighbor`);
    return async () => {
      const event = newAlarmEvent(client.tenant, [id]);
      const arrival = arrivalOf(event);
      await sendEvent(event);
      await arrival;
    };
  },
  async creates({ newClient }) {
    const client = await newClient();
    return () => client.create(webhookNotification());
  },
};
