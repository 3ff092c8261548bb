import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { listenOnLoopback } from '../../support/listen.ts';

/** A receiver of webhooks in this process. It records their arrival times, in ms of `performance.now()`. */
export type Arrivals = {
  url: string;
  /**
   * Waits for all of these, and for duplicates.
   *
   * @returns arrival times in ms
   * @throws Error if one is missing or duplicated
   */
  of: (names: Iterable<string>) => Promise<Map<string, number>>;
  stop: () => void;
};

const TIMEOUT_MS = 60_000;
/** How long to wait for duplicates. */
const DUPLICATE_WAIT_MS = 300;

/** Starts a receiver. @param nameOf returns the identifier in a webhook body */
export const openArrivals = async (nameOf: (body: string) => string): Promise<Arrivals> => {
  const arrived = new Map<string, number[]>();
  const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const atMs = performance.now();
      response.end('ok');
      const name = nameOf(Buffer.concat(parts).toString('utf8'));
      arrived.set(name, [...(arrived.get(name) ?? []), atMs]);
    });
  });
  const port = await listenOnLoopback(server);
  return {
    url: `http://127.0.0.1:${port}`,
    async of(names) {
      const expected = [...names];
      const deadlineMs = performance.now() + TIMEOUT_MS;
      const missing = () => expected.filter((name) => !arrived.has(name)).length;
      while (missing() > 0 && performance.now() < deadlineMs) await sleep(20);
      if (missing() > 0) throw new Error(`${missing()} of ${expected.length} did not arrive.`);
      await sleep(DUPLICATE_WAIT_MS);
      return new Map(
        expected.map((name) => {
          const [atMs = Number.NaN, ...more] = arrived.get(name) ?? [];
          if (more.length > 0) throw new Error(`${name} arrived ${more.length + 1} times.`);
          return [name, atMs];
        }),
      );
    },
    stop() {
      server.closeAllConnections();
      server.close();
    },
  };
};
