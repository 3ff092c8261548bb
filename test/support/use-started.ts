import { afterAll, beforeAll } from 'vitest';

/**
 * Starts something before the tests of a file or describe, and stops it after them, unless all are skipped. Only hooks,
 * tests and later calls can read what `start` resolves to; earlier, reading a property throws an error.
 */
export const useStarted = <Value extends object>(
  start: () => Value | Promise<Value>,
  stop: (started: Value) => unknown = () => undefined,
): Value => {
  let started: Value | undefined;
  beforeAll(async () => {
    started = await start();
  });
  afterAll(async () => {
    if (started) await stop(started);
  });
  const read = (property: string): Value => {
    if (!started) throw new Error(`"${property}" is not available before the tests: read it in a hook or a test.`);
    return started;
  };
  return new Proxy<Value>(Object.create(null), {
    get: (_, property) => Reflect.get(read(String(property)), property),
    has: (_, property) => Reflect.has(read(String(property)), property),
    // These two make a copy with `{ ...started }` complete.
    ownKeys: () => Reflect.ownKeys(read('...')),
    getOwnPropertyDescriptor(_, property) {
      const descriptor = Reflect.getOwnPropertyDescriptor(read(String(property)), property);
      return descriptor && { ...descriptor, configurable: true };
    },
  });
};
