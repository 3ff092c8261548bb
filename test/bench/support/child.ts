import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { fileURLToPath } from 'node:url';
import * as z from 'zod';

/** What a server in a process of its own has counted since it was asked last. */
export type Counts = Record<string, number>;

/** A server in a process of its own, so that what it costs is not counted with what calls it. */
export type ChildServer = {
  url: string;
  /** What was counted since the last time. */
  counts: () => Promise<Counts>;
  stop: () => void;
};

const ready = z.object({ url: z.string() });
const counted = z.record(z.string(), z.number());

/** Starts one of the servers of this folder. @param options what it is told, as JSON */
export const startChild = async (file: `./${string}.ts`, options: unknown = {}): Promise<ChildServer> => {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), [JSON.stringify(options)]);
  const answer = async () => (await once(child, 'message'))[0];
  const { url } = ready.parse(await answer());
  return {
    url,
    async counts() {
      child.send('counts');
      return counted.parse(await answer());
    },
    stop: () => child.kill(),
  };
};

/** What a server was started with. */
export const childOptions = <Options>(schema: z.ZodType<Options>): Options =>
  schema.parse(JSON.parse(process.argv[2] ?? '{}'));

/** Serves in this process and tells the one that started it what was counted, whenever it asks. */
export const serveAsChild = (listener: (count: (name: string, amount?: number) => void) => RequestListener): void => {
  let counts: Counts = {};
  const count = (name: string, amount = 1) => {
    counts[name] = (counts[name] ?? 0) + amount;
  };
  const server = createServer({ keepAliveTimeout: 60_000 }, listener(count));
  server.listen(0, '127.0.0.1', () => {
    const address = server.address();
    if (typeof address === 'object' && address) process.send?.({ url: `http://127.0.0.1:${address.port}` });
  });
  process.on('message', () => {
    process.send?.(counts);
    counts = {};
  });
  process.on('disconnect', () => process.exit());
};
