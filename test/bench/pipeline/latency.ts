import { setTimeout as sleep } from 'node:timers/promises';
import { percentile } from '../../support/percentile.ts';
import type { Arrivals } from './arrivals.ts';

/** Latencies in ms. */
export type Latency = { p50: number; p99: number; max: number };

/** A steady rate of events. */
export type Rate = { perSecond: number; seconds: number };

/** When an event was sent and when its webhook arrived, in ms since the epoch, with fractions. */
export type Journey = { name: string; sentAtMs: number; arrivedAtMs: number };

/** Sends at a steady rate without waiting for arrivals. @returns when each event was sent and arrived */
export const measureJourneys = async (
  arrivals: Arrivals,
  send: () => Promise<string>,
  { perSecond, seconds }: Rate,
): Promise<Journey[]> => {
  const startMs = performance.now();
  const sending: Promise<[name: string, sentAtMs: number]>[] = [];
  for (let count = 0; count < perSecond * seconds; count++) {
    const delayMs = startMs + (count * 1_000) / perSecond - performance.now();
    if (delayMs > 0) await sleep(delayMs);
    const sentAtMs = performance.now();
    sending.push(send().then((name) => [name, sentAtMs]));
  }
  const sent = new Map(await Promise.all(sending));
  const arrived = await arrivals.of(sent.keys());
  return [...sent].map(([name, sentAtMs]) => ({
    name,
    sentAtMs: performance.timeOrigin + sentAtMs,
    arrivedAtMs: performance.timeOrigin + (arrived.get(name) ?? Number.NaN),
  }));
};

/** Sends at a steady rate without waiting for arrivals. @returns the latencies in ms */
export const measureLatency = async (arrivals: Arrivals, send: () => Promise<string>, rate: Rate): Promise<Latency> => {
  const journeys = await measureJourneys(arrivals, send, rate);
  const latenciesMs = journeys.map(({ sentAtMs, arrivedAtMs }) => arrivedAtMs - sentAtMs);
  return { p50: percentile(latenciesMs, 0.5), p99: percentile(latenciesMs, 0.99), max: percentile(latenciesMs, 1) };
};
