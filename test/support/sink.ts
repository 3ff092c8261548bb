import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import * as z from 'zod';

/** A request that a sink has received. */
export type Received = { path: string; headers: IncomingHttpHeaders; body: string; at: number };

/** A destination of webhooks: it keeps what it receives, and answers as it is told. */
export type Sink = {
  url: string;
  received: Received[];
  /** The first `amount` requests that fit, as soon as they have come. */
  wait: (amount: number, fits?: (request: Received) => boolean) => Promise<Received[]>;
  close: () => void;
};

/** The payload of a webhook, as far as tests look into it. */
export const payload = z.looseObject({ event_id: z.string(), details: z.looseObject({ state: z.string() }) });

/** Starts a sink on a free loopback port. In a test, `openSink` of `test-sink.ts` also closes it. */
export const startSink = async (
  answer: (response: ServerResponse, request: Received, index: number) => void = (response) => response.end('ok'),
): Promise<Sink> => {
  const received: Received[] = [];
  const waiting = new Set<() => void>();
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const { url: path = '', headers } = request;
      const one = { path, headers, body: Buffer.concat(parts).toString('utf8'), at: Date.now() };
      received.push(one);
      answer(response, one, received.length - 1);
      for (const check of waiting) check();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    received,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
    wait: (amount, fits = () => true) =>
      new Promise((resolve) => {
        const check = () => {
          const fitting = received.filter(fits);
          if (fitting.length < amount) return;
          waiting.delete(check);
          resolve(fitting);
        };
        waiting.add(check);
        check();
      }),
  };
};
