import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import * as z from 'zod';
import { listenOnLoopback } from './listen.ts';

/** A request that a sink received, at a time in ms since the epoch. */
export type Received = { path: string; headers: IncomingHttpHeaders; body: string; atMs: number };

/** An HTTP destination that records its requests. */
export type Sink = {
  url: string;
  received: Received[];
  /** Waits for at least `count` matching requests. @returns all of them */
  wait: (count: number, matches?: (request: Received) => boolean) => Promise<Received[]>;
  close: () => void;
};

/** The webhook payload fields that tests read. */
export const payload = z.looseObject({ event_id: z.string(), details: z.looseObject({ state: z.string() }) });

/** Starts a sink on a free loopback port. The caller closes it, unlike with `openSink` in `test-sink.ts`. */
export const startSink = async (
  respond: (response: ServerResponse, request: Received, index: number) => void = (response) => response.end('ok'),
): Promise<Sink> => {
  const received: Received[] = [];
  const waiting = new Set<() => void>();
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const { url: path = '', headers } = request;
      const receivedRequest = { path, headers, body: Buffer.concat(parts).toString('utf8'), atMs: Date.now() };
      received.push(receivedRequest);
      respond(response, receivedRequest, received.length - 1);
      for (const check of waiting) check();
    });
  });
  const port = await listenOnLoopback(server);
  return {
    url: `http://127.0.0.1:${port}`,
    received,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
    wait: (count, matches = () => true) =>
      new Promise((resolve) => {
        const check = () => {
          const matching = received.filter(matches);
          if (matching.length < count) return;
          waiting.delete(check);
          resolve(matching);
        };
        waiting.add(check);
        check();
      }),
  };
};
