import { setTimeout as sleep } from 'node:timers/promises';
import { percentile } from '../../support/percentile.ts';
import type { Arrivals } from './arrivals.ts';

/** Latencies in ms. */
export type Latency = { p50: number; p99: number; max: number };

/** A steady rate of events. */
export type Rate = { perSecond: number; seconds: number };

/**
 * Sends at a steady rate without waiting for arrivals.
 *
 * @param send sends this number of events, and returns their names
 */
export const measureLatency = async (
  arrivals: Arrivals,
  send: (count: number) => Promise<string[]>,
  { perSecond, seconds }: Rate,
): Promise<Latency> => {
  const startMs = performance.now();
  const sending: Promise<[name: string, sentAtMs: number]>[] = [];
  for (let count = 0; count < perSecond * seconds; count++) {
    const delayMs = startMs + (count * 1_000) / perSecond - performance.now();
    if (delayMs > 0) await sleep(delayMs);
    const sentAtMs = performance.now();
    sending.push(send(1).then(([name = '']) => [name, sentAtMs]));
  }
  const sent = new Map(await Promise.all(sending));
  const arrived = await arrivals.of(sent.keys());
  const latenciesMs = [...sent].map(([name, sentAtMs]) => (arrived.get(name) ?? Number.NaN) - sentAtMs);
  return { p50: percentile(latenciesMs, 0.5), p99: percentile(latenciesMs, 0.99), max: percentile(latenciesMs, 1) };
};
