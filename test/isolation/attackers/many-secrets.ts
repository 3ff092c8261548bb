import { randomBytes } from 'node:crypto';
import { newAlarmEvent } from '../../support/events.ts';
import { largestHeaders } from '../../support/notifications.ts';
import { createWebhooks } from '../arena.ts';
import type { Attacker } from '../attacker.ts';

const WEBHOOKS = 100;

export const manySecrets: Attacker = {
  name: 'many-secrets',
  description:
    'with an alert every 10 s for 100 webhooks with 16 KB of secret header values that fail with 64 KB of text',
  isHanging: false,
  everyMs: 10_000,
  async prepare({ newClient, openReceiver, sendEvent }) {
    const client = await newClient();
    const headers = largestHeaders();
    const text = randomBytes(48 * 1024).toString('base64');
    const url = await openReceiver((request, response) => {
      request.resume().on('end', () => response.writeHead(500).end(text));
    });
    const ids = await createWebhooks(client, Array<string>(WEBHOOKS).fill(url), { webhook_request: { headers } });
    return () => sendEvent(newAlarmEvent(client.tenant, ids));
  },
};
