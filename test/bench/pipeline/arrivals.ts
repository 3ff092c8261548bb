import { createServer } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';

/** A receiver of webhooks in this process, which takes the time of each on the clock of `performance.now()`. */
export type Arrivals = {
  url: string;
  /** Waits until all of these have come, and a moment for more. @returns when each came @throws Error where one did not come, or not once */
  of: (names: Iterable<string>) => Promise<Map<string, number>>;
  stop: () => void;
};

/** How long the last may take, in ms. */
const PATIENCE = 60_000;
/** How long to wait for one that comes twice, in ms. */
const AFTERWARDS = 300;

/** Opens a receiver. @param nameOf what a webhook's body is told apart by */
export const openArrivals = async (nameOf: (body: string) => string): Promise<Arrivals> => {
  const arrived = new Map<string, number[]>();
  const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const at = performance.now();
      response.end('ok');
      const name = nameOf(Buffer.concat(parts).toString('utf8'));
      arrived.set(name, [...(arrived.get(name) ?? []), at]);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  return {
    url: `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`,
    async of(names) {
      const wanted = [...names];
      const until = performance.now() + PATIENCE;
      const missing = () => wanted.filter((name) => !arrived.has(name)).length;
      while (missing() > 0 && performance.now() < until) await pause(20);
      if (missing() > 0) throw new Error(`${missing()} of ${wanted.length} did not arrive.`);
      await pause(AFTERWARDS);
      return new Map(
        wanted.map((name) => {
          const [at = Number.NaN, ...more] = arrived.get(name) ?? [];
          if (more.length > 0) throw new Error(`${name} arrived ${more.length + 1} times.`);
          return [name, at];
        }),
      );
    },
    stop() {
      server.closeAllConnections();
      server.close();
    },
  };
};
