import { newAlarmEvent } from '../../support/events.ts';
import { largestHeaders } from '../../support/notifications.ts';
import { createWebhooks } from '../arena.ts';
import type { Attacker } from '../attacker.ts';

const WEBHOOKS = 100;

export const echoedSecrets: Attacker = {
  name: 'echoed-secrets',
  description: 'with an alert every 10 s for 100 webhooks that fail, and echo 16 KB of secret header values',
  isHanging: false,
  everyMs: 10_000,
  async prepare({ newClient, openReceiver, sendEvent }) {
    const client = await newClient();
    const headers = largestHeaders();
    const values = Object.values(headers).join('');
    const url = await openReceiver((request, response) => {
      request.resume().on('end', () => response.writeHead(500).end(values));
    });
    const ids = await createWebhooks(client, Array<string>(WEBHOOKS).fill(url), { webhook_request: { headers } });
    return () => sendEvent(newAlarmEvent(client.tenant, ids));
  },
};
