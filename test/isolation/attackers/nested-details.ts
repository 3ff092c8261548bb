import { costlyEvent, LARGEST_EVENT_BYTES } from '../../support/costly-event.ts';
import { newAlarmEvent } from '../../support/events.ts';
import { createWebhooks } from '../arena.ts';
import type { Attacker } from '../attacker.ts';

const WEBHOOKS = 60;
/** The first is too large for an event. */
const SIZES = [880 * 1_024, LARGEST_EVENT_BYTES];

export const nestedDetails: Attacker = {
  name: 'nested-details',
  description: 'with events of 256 and 880 KiB like `[1.0,{},{},…]` for 60 webhooks that fail',
  isHanging: false,
  everyMs: 10_000,
  async prepare({ newClient, openReceiver, sendEvent }) {
    const client = await newClient();
    const url = await openReceiver((request, response) => {
      request.resume().on('end', () => response.writeHead(500).end());
    });
    const ids = await createWebhooks(client, Array<string>(WEBHOOKS).fill(url));
    return () => Promise.all(SIZES.map((bytes) => sendEvent(costlyEvent(newAlarmEvent(client.tenant, ids), bytes))));
  },
};
