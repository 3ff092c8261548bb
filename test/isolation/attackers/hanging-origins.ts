import { newAlarmEvent } from '../../support/events.ts';
import { createWebhooks, hang } from '../arena.ts';
import type { Attacker } from '../attacker.ts';

const ORIGINS = 700;

export const hangingOrigins: Attacker = {
  name: 'hanging-origins',
  description: 'with ten alerts a minute for each of 700 endpoints that hang, each on an origin of its own',
  isHanging: true,
  everyMs: 6_000,
  async prepare({ newClient, openReceiver, sendEvent }) {
    const client = await newClient();
    const urls = await Promise.all(Array.from({ length: ORIGINS }, () => openReceiver(hang)));
    const ids = await createWebhooks(client, urls);
    return () => sendEvent(newAlarmEvent(client.tenant, ids));
  },
};
