import autocannon from 'autocannon';
import type { Case } from './cases.ts';

/** What came of some seconds of requests. Times in ms. */
export type Load = { answers: number; perSecond: number; p50: number; p99: number };

/** For how long, or for how many requests. */
export type Amount = { duration: number } | { amount: number };

const percentile = (sorted: readonly number[], share: number): number =>
  sorted[Math.ceil(sorted.length * share) - 1] ?? Number.NaN;

/** Makes requests of a case, one after the other on each connection. @throws Error where an answer was not the right one */
export const load = (
  url: string,
  { name, status, request }: Case,
  connections: number,
  amount: Amount,
): Promise<Load> =>
  new Promise((resolve, reject) => {
    // autocannon's own histogram is in whole ms, which a read does not take, and its duration ends at a sample's end.
    const times: number[] = [];
    let [started, ended] = [0, 0];
    const options = { url, connections, requests: [{ ...request }], sampleInt: 100, ...amount };
    const running = autocannon(options, (error, { statusCodeStats = {}, errors }) => {
      if (error) return reject(error);
      const others = Object.keys(statusCodeStats).filter((code) => code !== String(status));
      const answers = times.length;
      if (others.length > 0 || errors > 0 || answers === 0) {
        return reject(new Error(`${name}: ${answers} answers, ${errors} errors, ${JSON.stringify(statusCodeStats)}`));
      }
      times.sort((one, other) => one - other);
      const perSecond = (answers * 1_000) / (ended - started);
      resolve({ answers, perSecond, p50: percentile(times, 0.5), p99: percentile(times, 0.99) });
    });
    running.on('response', (_, __, ___, time) => {
      ended = performance.now();
      if (times.length === 0) started = ended - time;
      times.push(time);
    });
  });
