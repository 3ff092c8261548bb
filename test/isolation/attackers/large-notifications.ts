import { setTimeout as sleep } from 'node:timers/promises';
import { newAlarmEvent } from '../../support/events.ts';
import { incompressibleEntries } from '../../support/notifications.ts';
import { createWebhook } from '../arena.ts';
import type { Attacker } from '../attacker.ts';

const NOTIFICATIONS = 60;
/** 340 KB in requests, 260 KB stored. */
const ENTRIES = 83;
/** Creating notifications faster would throttle the partition key of the tenant. */
const CREATE_INTERVAL_MS = 400;

export const largeNotifications: Attacker = {
  name: 'large-notifications',
  description: 'with an event per second for 60 notifications of 340 KB, which DynamoDB throttles',
  isHanging: false,
  everyMs: 1_000,
  async prepare({ newClient, openReceiver, sendEvent }) {
    const client = await newClient();
    const url = await openReceiver((_request, response) => void response.end());
    const details = { ...incompressibleEntries(ENTRIES, 'x'), url };
    const ids: string[] = [];
    for (let index = 0; index < NOTIFICATIONS; index++) {
      ids.push(await createWebhook(client, url, { details }));
      await sleep(CREATE_INTERVAL_MS);
    }
    return () => sendEvent(newAlarmEvent(client.tenant, ids));
  },
};
