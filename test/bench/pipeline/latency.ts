import { setTimeout as pause } from 'node:timers/promises';
import type { Arrivals } from './arrivals.ts';

/** Latencies in ms. */
export type Latency = { p50: number; p99: number; max: number };

/** Sends one after the other at a steady pace, whether or not the ones before have arrived. @returns what each took */
export const measureLatency = async (
  arrivals: Arrivals,
  send: () => Promise<string>,
  { perSecond, seconds }: { perSecond: number; seconds: number },
): Promise<Latency> => {
  const started = performance.now();
  const sending: Promise<[name: string, at: number]>[] = [];
  for (let count = 0; count < perSecond * seconds; count++) {
    const wait = started + (count * 1_000) / perSecond - performance.now();
    if (wait > 0) await pause(wait);
    const at = performance.now();
    sending.push(send().then((name) => [name, at]));
  }
  const sent = new Map(await Promise.all(sending));
  const arrived = await arrivals.of(sent.keys());
  const taken = [...sent].map(([name, at]) => (arrived.get(name) ?? Number.NaN) - at);
  taken.sort((one, other) => one - other);
  const percentile = (share: number) => taken[Math.ceil(taken.length * share) - 1] ?? Number.NaN;
  return { p50: percentile(0.5), p99: percentile(0.99), max: percentile(1) };
};
