import crypto from 'node:crypto';
import { createRequire, syncBuiltinESMExports } from 'node:module';
import timersPromises from 'node:timers/promises';
import { contexts } from './context.ts';

/*
 * Replaces what makes a run depend on anything but its seed: the clock, timers and random numbers of Node.js. Outside a
 * simulation they stay as they are. Import this module before any other that could keep a reference to them.
 */

const real = {
  now: Date.now,
  performanceNow: performance.now.bind(performance),
  setTimeout: globalThis.setTimeout,
  clearTimeout: globalThis.clearTimeout,
  setImmediate: globalThis.setImmediate,
  random: Math.random,
  randomUUID: crypto.randomUUID,
  randomBytes: crypto.randomBytes,
  randomInt: crypto.randomInt,
  getRandomValues: globalThis.crypto.getRandomValues.bind(globalThis.crypto),
  abortTimeout: AbortSignal.timeout.bind(AbortSignal),
};

/** Resolves when no microtask is pending. Nothing in a simulation waits for real I/O. */
export const microtasksDone = (): Promise<void> => new Promise((resolve) => process.nextTick(resolve));

/** Lets the process receive messages and signals. It takes longer than `microtasksDone`. */
export const eventLoopTurn = (): Promise<void> => new Promise((resolve) => real.setImmediate(resolve));

const nowMs = (): number => {
  const context = contexts.getStore();
  return context ? context.time.now() + context.skewMs : real.now();
};

/** A timer as `setTimeout` returns it. */
class SimulatedTimer {
  readonly cancel: () => void;
  constructor(cancel: () => void) {
    this.cancel = cancel;
  }
  ref(): this {
    return this;
  }
  unref(): this {
    return this;
  }
  hasRef(): boolean {
    return true;
  }
  [Symbol.dispose](): void {
    this.cancel();
  }
}

type Callback = (...parameters: unknown[]) => void;

/** Starts a timer of the current context, or returns undefined outside a simulation. */
const startTimer = (callback: Callback, ms: number, parameters: unknown[]): SimulatedTimer | undefined => {
  const context = contexts.getStore();
  if (!context) return undefined;
  let isCancelled = false;
  const cancel = context.time.after(ms, () =>
    context.deliver(() => {
      if (!isCancelled) callback(...parameters);
    }),
  );
  return new SimulatedTimer(() => {
    isCancelled = true;
    cancel();
  });
};

const waitMs = (ms: unknown): number => (typeof ms === 'number' && ms > 1 ? ms : 1);

const replacementOf = {
  setTimeout: (callback: Callback, ms?: number, ...parameters: unknown[]) =>
    startTimer(callback, waitMs(ms), parameters) ?? real.setTimeout(callback, ms, ...parameters),
  clearTimeout(timer: unknown): void {
    if (timer instanceof SimulatedTimer) timer.cancel();
    else if (isRealTimer(timer)) real.clearTimeout(timer);
  },
  setImmediate: (callback: Callback, ...parameters: unknown[]) =>
    startTimer(callback, 0, parameters) ?? real.setImmediate(callback, ...parameters),
};

const isRealTimer = (timer: unknown): timer is NodeJS.Timeout => typeof timer === 'object' || typeof timer === 'number';

const randomByte = (random: () => number): number => Math.floor(random() * 256);

const uuidOf = (random: () => number): `${string}-${string}-${string}-${string}-${string}` => {
  const hex = Array.from({ length: 4 }, () =>
    Math.floor(random() * 2 ** 32)
      .toString(16)
      .padStart(8, '0'),
  ).join('');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20)}`;
};

const RealDate = globalThis.Date;

/** `new Date()` and `Date.now()` return the time of the context; everything else is that of `Date`. */
const SimulatedDate: DateConstructor = new Proxy(RealDate, {
  construct: (target, parameters): Date => Reflect.construct(target, parameters.length === 0 ? [nowMs()] : parameters),
});

const replace = (target: object, name: string, value: unknown): void => {
  Object.defineProperty(target, name, { value, configurable: true, writable: true });
};

RealDate.now = nowMs;
replace(globalThis, 'Date', SimulatedDate);
replace(performance, 'now', () => (contexts.getStore() ? nowMs() : real.performanceNow()));
for (const [name, value] of Object.entries(replacementOf)) replace(globalThis, name, value);
replace(Math, 'random', () => contexts.getStore()?.random() ?? real.random());
replace(AbortSignal, 'timeout', (ms: number) => {
  if (!contexts.getStore()) return real.abortTimeout(ms);
  const controller = new AbortController();
  setTimeout(() => controller.abort(new DOMException('The operation timed out.', 'TimeoutError')), ms);
  return controller.signal;
});

const randomUUID = () => {
  const context = contexts.getStore();
  return context ? uuidOf(context.random) : real.randomUUID();
};
const getRandomValues = <Values extends Uint8Array>(values: Values): Values => {
  const context = contexts.getStore();
  if (!context) return real.getRandomValues(values);
  for (let index = 0; index < values.length; index++) values[index] = randomByte(context.random);
  return values;
};
replace(globalThis.crypto, 'randomUUID', randomUUID);
replace(globalThis.crypto, 'getRandomValues', getRandomValues);

const builtins = {
  'node:crypto': {
    randomUUID,
    randomBytes: (size: number) => {
      const context = contexts.getStore();
      return context
        ? Buffer.from(Array.from({ length: size }, () => randomByte(context.random)))
        : real.randomBytes(size);
    },
    randomInt: (max: number) => {
      const context = contexts.getStore();
      return context ? Math.floor(context.random() * max) : real.randomInt(max);
    },
  },
  'node:timers': replacementOf,
  'node:timers/promises': {
    setTimeout: sleepLike(replacementOf.setTimeout),
    setImmediate: (value?: unknown) => new Promise((resolve) => replacementOf.setImmediate(() => resolve(value))),
  },
};

/** `node:timers/promises` `setTimeout`, on the given timers. */
function sleepLike(set: typeof replacementOf.setTimeout) {
  const realSleep = timersPromises.setTimeout;
  return (ms?: number, value?: unknown, options?: { signal?: AbortSignal; ref?: boolean }) => {
    if (!contexts.getStore()) return realSleep(ms, value, options);
    return new Promise((resolve, reject) => {
      const timer = set(() => resolve(value), ms);
      options?.signal?.addEventListener('abort', () => {
        replacementOf.clearTimeout(timer);
        reject(new DOMException('The operation was aborted.', 'AbortError'));
      });
    });
  };
}

const require = createRequire(import.meta.url);
for (const [name, members] of Object.entries(builtins))
  for (const [member, value] of Object.entries(members)) replace(require(name), member, value);
syncBuiltinESMExports();
