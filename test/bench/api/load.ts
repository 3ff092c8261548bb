import autocannon from 'autocannon';
import { percentile } from '../../support/percentile.ts';
import type { Case } from './cases.ts';

/** The result of a load test. Latencies are in ms. */
export type Load = { responses: number; perSecond: number; p50: number; p99: number };

/** A duration in seconds, or a number of requests (the options of autocannon). */
export type Amount = { duration: number } | { amount: number };

/** Sends requests, one at a time on each connection. @throws Error if a response has another status than expected */
export const load = (
  url: string,
  { name, status, request }: Case,
  connections: number,
  amount: Amount,
): Promise<Load> =>
  new Promise((resolve, reject) => {
    // autocannon's histogram has a resolution of 1 ms, and its duration is rounded to samples.
    const latenciesMs: number[] = [];
    let [startMs, endMs] = [0, 0];
    const options = { url, connections, requests: [{ ...request }], sampleInt: 100, ...amount };
    const running = autocannon(options, (error, { statusCodeStats = {}, errors }) => {
      if (error) return reject(error);
      const unexpected = Object.keys(statusCodeStats).filter((code) => code !== String(status));
      const responses = latenciesMs.length;
      if (unexpected.length > 0 || errors > 0 || responses === 0) {
        return reject(
          new Error(`${name}: ${responses} responses, ${errors} errors, ${JSON.stringify(statusCodeStats)}`),
        );
      }
      const perSecond = (responses * 1_000) / (endMs - startMs);
      resolve({ responses, perSecond, p50: percentile(latenciesMs, 0.5), p99: percentile(latenciesMs, 0.99) });
    });
    running.on('response', (_, __, ___, time) => {
      endMs = performance.now();
      if (latenciesMs.length === 0) startMs = endMs - time;
      latenciesMs.push(time);
    });
  });
