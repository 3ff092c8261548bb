import { newAlarmEvent, traceFields } from '../../support/events.ts';
import { createWebhook } from '../arena.ts';
import type { Attacker } from '../attacker.ts';

/** The first is too long for an event. */
const LENGTHS = [350 * 1_024, 250 * 1_024];

export const longTracestate: Attacker = {
  name: 'long-tracestate',
  description: 'with events whose `tracestate` is 250 or 350 KB of spaces',
  isHanging: false,
  everyMs: 5_000,
  async prepare({ newClient, openReceiver, sendEvent }) {
    const client = await newClient();
    const id = await createWebhook(client, await openReceiver((_request, response) => void response.end()));
    const eventWith = (tracestate: string) => newAlarmEvent(client.tenant, [id], { ...traceFields, tracestate });
    return () => Promise.all(LENGTHS.map((length) => sendEvent(eventWith(`a=${' '.repeat(length)}`))));
  },
};
