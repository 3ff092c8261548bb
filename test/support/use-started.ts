import { afterAll, beforeAll } from 'vitest';

/**
 * Starts something before the tests of a file or describe, and stops it after them. Nothing starts if all of them are
 * skipped, because vitest then calls no hook.
 *
 * @param start may read what an earlier call returned
 * @returns what `start` resolves to. Only hooks and tests can read it; earlier, reading a property throws an error
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
  return new Proxy<Value>(Object.create(null), {
    get(_, property) {
      if (!started)
        throw new Error(`"${String(property)}" is not available before the tests: read it in a hook or test.`);
      return Reflect.get(started, property);
    },
  });
};
