import { describe, expect, it } from 'vitest';
import { RequestTimeoutError } from '../../shared/adapters/outbound-http/http-client.ts';
import { createSlowTenants } from '../../shared/adapters/outbound-http/slow-tenants.ts';
import { seededRandom } from '../simulation/engine/random.ts';

const STEP_MS = 100;
const TIMEOUT_MS = 15_000;
const QUIET_INTERVAL_MS = 1_000;

/** The concurrent batches of webhooks with the default settings, and the messages of a batch. */
const queueSettings = {
  firstAttempts: { maxBatches: 200, batchSize: 10 },
  retries: { maxBatches: 50, batchSize: 100 },
} as const;

type QueueName = keyof typeof queueSettings;

/** An execution environment, the queue whose batch it processes, and when that batch ends. */
type Environment = {
  tenants: ReturnType<typeof createSlowTenants>;
  queue?: QueueName | undefined;
  endsAtMs: number;
  end: () => Promise<unknown>;
};

/**
 * Simulates the execution environments of a sender for 200 s. One tenant sends floods of alerts, each to an endpoint of its
 * own that hangs; another one sends an alert per second. The queues are fair.
 *
 * @returns the time for which each alert of the other tenant waited for an environment, ms, in the order of sending
 */
const simulateWaits = async (floodSize: number, floodIntervalMs: number): Promise<number[]> => {
  const random = seededRandom(1);
  let nowMs = 0;
  const endMs = 200_000;
  const clock = () => nowMs;
  const nothing = async () => undefined;
  const environments = Array.from(
    { length: queueSettings.firstAttempts.maxBatches + queueSettings.retries.maxBatches },
    (): Environment => ({ tenants: createSlowTenants(clock, random), endsAtMs: 0, end: nothing }),
  );
  const waiting: Record<QueueName, number> = { firstAttempts: 0, retries: 0 };
  const quietSentAtMs: number[] = [];
  const waitsMs: number[] = [];

  /** Returns an environment for a batch of a queue, any of those that are idle, unless the queue has enough batches. */
  const startBatch = (queue: QueueName): Environment | undefined => {
    const running = environments.filter((each) => each.queue === queue);
    const idle = environments.filter((each) => each.queue === undefined);
    const environment = idle[Math.floor(random() * idle.length)];
    if (!environment || running.length >= queueSettings[queue].maxBatches) return undefined;
    return Object.assign(environment, { queue, endsAtMs: nowMs + STEP_MS, end: nothing });
  };

  const hang = (environment: Environment, count: number): void => {
    const { promise, reject } = Promise.withResolvers<never>();
    const sends = Array.from({ length: count }, () => environment.tenants.watch('hanging', () => promise));
    environment.endsAtMs = nowMs + TIMEOUT_MS;
    environment.end = () => {
      reject(new RequestTimeoutError());
      return Promise.allSettled(sends);
    };
  };

  const runBatches = (queue: QueueName): void => {
    while (waiting[queue] > 0 || (queue === 'firstAttempts' && quietSentAtMs.length > 0)) {
      const environment = startBatch(queue);
      if (!environment) return;
      if (queue === 'firstAttempts') waitsMs.push(...quietSentAtMs.splice(0).map((sentAtMs) => nowMs - sentAtMs));
      const count = Math.min(waiting[queue], queueSettings[queue].batchSize);
      waiting[queue] -= count;
      if (queue === 'firstAttempts' && environment.tenants.isSlow('hanging')) waiting.retries += count;
      else if (count > 0) hang(environment, count);
    }
  };

  for (; nowMs < endMs; nowMs += STEP_MS) {
    for (const environment of environments) {
      if (environment.queue === undefined || environment.endsAtMs > nowMs) continue;
      await environment.end();
      environment.queue = undefined;
    }
    if (nowMs % floodIntervalMs === 0) waiting.firstAttempts += floodSize;
    if (nowMs % QUIET_INTERVAL_MS === 0) quietSentAtMs.push(nowMs);
    runBatches('firstAttempts');
    runBatches('retries');
  }
  return waitsMs;
};

describe('a tenant whose endpoints hang', () => {
  it.each([
    ['1,000 alerts every 6 s', 1_000, 6_000],
    // Environments that were occupied at the same time would otherwise try again at the same time.
    ['2,000 alerts every 45 s', 2_000, 45_000],
  ])(
    'delays first attempts of others by at most 20 s in the first minute, then by at most 2 s: %s',
    async (_, size, intervalMs) => {
      const waitsMs = await simulateWaits(size, intervalMs);
      expect(waitsMs).toHaveLength(200);
      expect(Math.max(...waitsMs.slice(0, 60))).toBeLessThanOrEqual(20_000);
      expect(Math.max(...waitsMs.slice(60))).toBeLessThanOrEqual(2_000);
    },
  );
});
