import { createServer } from 'node:http';
import { listenOnLoopback } from '../support/listen.ts';
import type { Random } from './random.ts';

/** A delivery that a destination accepted, at a time in ms since the epoch. */
export type Receipt = { delivery: string; atMs: number };

const eventNumberIn = (body: string): string => /#(\d+)#/.exec(body)?.[1] ?? '';

/**
 * Starts the destinations of all types with HTTP. They fail 28% of all requests until `recover` is called, 5% so that
 * the service gives up, and record what they accept as `<event number> <notification key>`. The key is in the Atom
 * category or the last part of the path.
 */
export const openDestinations = async (random: Random, receipts: Receipt[]) => {
  let isFailing = true;
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('error', () => undefined);
    request.on('end', () => {
      const body = Buffer.concat(parts).toString('utf8');
      const path = request.url ?? '';
      const key =
        /monitoring\.alerts\.([\w-]+)/.exec(body)?.[1] ??
        path
          .replace(/^\/router/, '')
          .split('/')
          .filter(Boolean)
          .at(-1) ??
        '';
      const chance = isFailing ? random() : 1;
      if (chance < 0.13) return response.writeHead(500).end();
      if (chance < 0.17) return response.writeHead(429, { 'retry-after': '1' }).end();
      if (chance < 0.22) return response.writeHead(path.startsWith('/webhook') ? 410 : 404).end();
      if (chance < 0.26) return response.destroy();
      if (chance < 0.28) return response.writeHead(302, { location: 'http://169.254.169.254/' }).end();
      receipts.push({ delivery: `${eventNumberIn(body)} ${key}`, atMs: Date.now() });
      const respond = () =>
        response.writeHead(path.startsWith('/feed') ? 201 : 200).end('{"result":"success","status":"success"}');
      return setTimeout(respond, random() * 20);
    });
  });
  const port = await listenOnLoopback(server);
  return {
    url: `http://127.0.0.1:${port}`,
    recover: () => {
      isFailing = false;
    },
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
};
