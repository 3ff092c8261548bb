import { newAlarmEvent } from '../../support/events.ts';
import { createWebhook } from '../arena.ts';
import type { Attacker } from '../attacker.ts';

const TENANTS = 3;

export const sharedOrigin: Attacker = {
  name: 'shared-origin',
  description: 'and two others, each with an alert every 5 s for a path of the same origin that hangs',
  isHanging: true,
  everyMs: 5_000,
  async prepare({ newClient, origin, sendEvent }) {
    const clients = await Promise.all(Array.from({ length: TENANTS }, newClient));
    const sends = await Promise.all(
      clients.map(async (client) => {
        const id = await createWebhook(client, `${origin}/hang`);
        return () => sendEvent(newAlarmEvent(client.tenant, [id]));
      }),
    );
    return () => Promise.all(sends.map((send) => send()));
  },
};
