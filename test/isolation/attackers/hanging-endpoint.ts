import { newAlarmEvent } from '../../support/events.ts';
import { createWebhook, hang } from '../arena.ts';
import type { Attacker } from '../attacker.ts';

const ALERTS = 500;

export const hangingEndpoint: Attacker = {
  name: 'hanging-endpoint',
  description: 'with 1,000 alerts a minute for an endpoint that hangs',
  isHanging: true,
  everyMs: 30_000,
  async prepare({ newClient, openReceiver, sendEvent }) {
    const client = await newClient();
    const id = await createWebhook(client, await openReceiver(hang));
    return () => Promise.all(Array.from({ length: ALERTS }, () => sendEvent(newAlarmEvent(client.tenant, [id]))));
  },
};
