import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { ulid } from 'ulid';
import { costlyEvent, LARGEST_EVENT_BYTES } from '../support/costly-event.ts';
import { newAlarmEvent, traceFields } from '../support/events.ts';
import { incompressibleEntries, largestHeaders } from '../support/notifications.ts';
import { type Arena, createWebhook, createWebhooks, hang } from './arena.ts';

export type Attacker = {
  name: string;
  /** What it does, as the end of "beside a tenant …". */
  description: string;
  /** Whether its endpoints hang: in the first minute, first attempts of its neighbor may wait for one timeout. */
  isHanging: boolean;
  /** How its neighbor gets alerts. Default: by webhook */
  neighbor?: 'email';
  everyMs: number;
  /** Creates its notifications. @returns the attack, which the measurement repeats */
  prepare: (arena: Arena) => Promise<() => Promise<unknown>>;
};

/** Emails per second that SES usually accepts from an account. */
const SENDING_RATE = 14;

export const attackers: readonly Attacker[] = [
  {
    name: 'long-tracestate',
    description: 'with events whose `tracestate` is 250 or 350 KB of spaces',
    isHanging: false,
    everyMs: 5_000,
    async prepare({ newClient, openReceiver, sendEvent }) {
      const client = await newClient();
      const id = await createWebhook(client, await openReceiver((_request, response) => void response.end()));
      const eventWith = (tracestate: string) => newAlarmEvent(client.tenant, [id], { ...traceFields, tracestate });
      // The first is too long for an event.
      return () =>
        Promise.all([350 * 1_024, 250 * 1_024].map((length) => sendEvent(eventWith(`a=${' '.repeat(length)}`))));
    },
  },
  {
    name: 'nested-details',
    description: 'with events of 256 and 880 KiB like `[1.0,{},{},…]` for 60 webhooks that fail',
    isHanging: false,
    everyMs: 10_000,
    async prepare({ newClient, openReceiver, sendEvent }) {
      const client = await newClient();
      const url = await openReceiver((request, response) => {
        request.resume().on('end', () => response.writeHead(500).end());
      });
      const ids = await createWebhooks(client, Array<string>(60).fill(url));
      // The first is too large for an event.
      return () =>
        Promise.all(
          [880 * 1_024, LARGEST_EVENT_BYTES].map((bytes) =>
            sendEvent(costlyEvent(newAlarmEvent(client.tenant, ids), bytes)),
          ),
        );
    },
  },
  {
    name: 'shared-origin',
    description: 'and two others, each with an alert every 5 s for a path of the same origin that hangs',
    isHanging: true,
    everyMs: 5_000,
    async prepare({ newClient, origin, sendEvent }) {
      const clients = await Promise.all(Array.from({ length: 3 }, newClient));
      const sends = await Promise.all(
        clients.map(async (client) => {
          const id = await createWebhook(client, `${origin}/hang`);
          return () => sendEvent(newAlarmEvent(client.tenant, [id]));
        }),
      );
      return () => Promise.all(sends.map((send) => send()));
    },
  },
  {
    name: 'hanging-endpoint',
    description: 'with 1,000 alerts a minute for an endpoint that hangs',
    isHanging: true,
    everyMs: 30_000,
    async prepare({ newClient, openReceiver, sendEvent }) {
      const client = await newClient();
      const id = await createWebhook(client, await openReceiver(hang));
      return () => Promise.all(Array.from({ length: 500 }, () => sendEvent(newAlarmEvent(client.tenant, [id]))));
    },
  },
  {
    name: 'hanging-origins',
    description: 'with ten alerts a minute for each of 700 endpoints that hang, each on an origin of its own',
    isHanging: true,
    everyMs: 6_000,
    async prepare({ newClient, openReceiver, sendEvent }) {
      const client = await newClient();
      const urls = await Promise.all(Array.from({ length: 700 }, () => openReceiver(hang)));
      const ids = await createWebhooks(client, urls);
      return () => sendEvent(newAlarmEvent(client.tenant, ids));
    },
  },
  {
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
      const ids = await createWebhooks(client, Array<string>(100).fill(url), { webhook_request: { headers } });
      return () => sendEvent(newAlarmEvent(client.tenant, ids));
    },
  },
  {
    name: 'many-ids',
    description: 'with an event per second each of 25,000, 8,000 and 1,024 IDs of notifications',
    isHanging: false,
    everyMs: 1_000,
    async prepare({ newClient, sendEvent }) {
      const { tenant } = await newClient();
      // The first are too many for an event of the maximum size, the second too many for any event.
      const plans = [25_000, 8_000, 1_024].map((count) => Array.from({ length: count }, () => `nt${ulid()}`));
      return () => Promise.all(plans.map((ids) => sendEvent(newAlarmEvent(tenant, ids))));
    },
  },
  {
    name: 'large-notifications',
    description: 'with an event per second for 60 notifications of 340 KB, which DynamoDB throttles',
    isHanging: false,
    everyMs: 1_000,
    async prepare({ newClient, openReceiver, sendEvent }) {
      const client = await newClient();
      const url = await openReceiver((_request, response) => void response.end());
      // 340 KB in requests, 260 KB stored.
      const details = { ...incompressibleEntries(83, 'x'), url };
      const ids: string[] = [];
      for (let index = 0; index < 60; index++) {
        ids.push(await createWebhook(client, url, { details }));
        // Faster would throttle the partition key of the tenant.
        await sleep(400);
      }
      return () => sendEvent(newAlarmEvent(client.tenant, ids));
    },
  },
  {
    name: 'many-emails',
    description: 'with 300 emails at once, while SES accepts 14 per second, which is that of a neighbor by email',
    isHanging: false,
    neighbor: 'email',
    everyMs: 60_000,
    async prepare({ newClient, limitEmails, sendEvent }) {
      const client = await newClient();
      const details = { address: 'many@example.com' };
      const id = await client.create({ label: 'email', type: 'email', details });
      return () => {
        limitEmails(SENDING_RATE);
        return Promise.all(Array.from({ length: 300 }, () => sendEvent(newAlarmEvent(client.tenant, [id]))));
      };
    },
  },
];
