import { createServer, type RequestListener } from 'node:http';
import { emailIn } from 'local-aws/ses.ts';
import { startLocalStack } from '../../bin/local/stack.ts';
import type { AlarmEvent } from '../../shared/contracts/alarm-event.ts';
import { type Client, connectApi } from '../support/api.ts';
import { listenOnLoopback } from '../support/listen.ts';
import { connectPipeline } from '../support/pipeline.ts';
import { addressesOf } from '../support/running-stack.ts';
import { createSendingRate } from '../support/sending-rate.ts';
import { payload } from '../support/sink.ts';

/** A stack with an attacker, its neighbor, and their receivers. */
export type Arena = {
  newClient: () => Promise<Client>;
  /** Sends an alarm event. A string is sent unchanged. */
  sendEvent: (event: AlarmEvent | string) => Promise<void>;
  /** The origin of the neighbor's receiver, whose path `/hang` never responds. */
  origin: string;
  /** Resolves when the neighbor's receiver gets the alert of an event, or SES an email that names the event's ID. */
  arrivalOf: (event: AlarmEvent) => Promise<void>;
  openReceiver: (listener: RequestListener) => Promise<string>;
  /** Makes SES accept so many emails per second. */
  limitEmails: (perSecond: number) => void;
  close: () => Promise<void>;
};

export const hang: RequestListener = (request) => void request.resume();

/** Room for the headers of a `webhook_request`. */
const MAX_HEADER_BYTES = 64 * 1_024;

/** Starts a local stack, with the concurrency of dispatch of a deployed one, and the receiver of a neighbor. */
export const openArena = async (): Promise<Arena> => {
  const stack = await startLocalStack({ settings: { dispatchConcurrency: '10' } });
  const running = addressesOf(stack);
  const api = connectApi(running);
  const { sendEvents } = connectPipeline(running, api);
  const closeReceivers: (() => void)[] = [];
  const openReceiver = async (listener: RequestListener): Promise<string> => {
    const server = createServer({ maxHeaderSize: MAX_HEADER_BYTES }, listener);
    closeReceivers.push(() => {
      server.closeAllConnections();
      server.close();
    });
    return `http://127.0.0.1:${await listenOnLoopback(server)}`;
  };
  const arrivals = new Map<string, () => void>();
  const origin = await openReceiver((request, response) => {
    if (request.url === '/hang') return hang(request, response);
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      response.end();
      arrivals.get(payload.parse(JSON.parse(Buffer.concat(parts).toString())).event_id)?.();
    });
  });
  const ses = stack.endpoint.services.get('ses');
  if (!ses) throw new Error('The stack has no SES.');
  stack.endpoint.services.set('ses', async (call) => {
    const response = await ses(call);
    const { text } = await emailIn(call.body);
    if (response.status === 200) for (const [id, arrive] of arrivals) if (text.includes(id)) arrive();
    return response;
  });
  return {
    newClient: () => api.newClient(),
    sendEvent: (event) => sendEvents([event]),
    origin,
    arrivalOf: ({ event_id }) => new Promise((resolve) => arrivals.set(event_id, resolve)),
    openReceiver,
    limitEmails(perSecond) {
      stack.endpoint.fault = createSendingRate(perSecond, Date.now);
    },
    async close() {
      for (const close of closeReceivers) close();
      await stack.stop();
    },
  };
};

export const createWebhook = (client: Client, url: string, attributes: object = {}): Promise<string> =>
  client.create({ label: 'webhook', type: 'webhook', details: { url }, ...attributes });

/** Creates webhook notifications one after another, because they change the same counter. @returns their IDs */
export const createWebhooks = async (
  client: Client,
  urls: readonly string[],
  attributes: object = {},
): Promise<string[]> => {
  const ids: string[] = [];
  for (const url of urls) ids.push(await createWebhook(client, url, attributes));
  return ids;
};
