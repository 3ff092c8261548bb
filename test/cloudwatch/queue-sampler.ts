import type { Measurement } from 'local-aws/cloudwatch/metric-store.ts';
import type { QueueTotals } from 'local-aws/sqs/metrics.ts';
import type { Queue } from 'local-aws/sqs/queue.ts';

/** The properties of a queue that its metrics are measured from. */
export type SampledQueue = Pick<Queue, 'counts' | 'totals' | 'pendingReceives' | 'ageOfOldestMessageSeconds'> & {
  settings: Pick<Queue['settings'], 'name'>;
};

/** SQS stops reporting the metrics of a queue that has been unused for this long. */
const ACTIVE_MS = 6 * 3_600_000;

/** When an inactive queue is used again, its metrics are delayed by up to this long. */
const ACTIVATION_MS = 15 * 60_000;

type Usage = {
  counts: QueueTotals & { messages: number };
  usedAtMs: number;
  /** When SQS starts to report the metrics of the queue again, in ms since the epoch. */
  reportedFromMs: number;
};

/** Measures the `AWS/SQS` metrics of queues once a minute, with the documented SQS rules for active queues. */
export class QueueSampler {
  readonly #usages = new Map<string, Usage>();
  readonly #keptActive: ReadonlySet<string>;

  /**
   * @param keptActive names of queues that receive an API call at least every six hours, regardless of their messages
   */
  constructor(keptActive: ReadonlySet<string> = new Set()) {
    this.#keptActive = keptActive;
  }

  /** Returns the metrics of a queue for the minute of `timestampMs`, or none while the queue is inactive. */
  sample(queue: SampledQueue, timestampMs: number): Measurement[] {
    const { visible, delayed, inFlight } = queue.counts;
    const counts = { ...queue.totals, messages: visible + delayed + inFlight };
    const before = this.#usages.get(queue.settings.name);
    const usage = this.#usage(queue, before, counts, timestampMs);
    this.#usages.set(queue.settings.name, usage);
    if (timestampMs - usage.usedAtMs > ACTIVE_MS || timestampMs < usage.reportedFromMs) return [];
    const ageSeconds = queue.ageOfOldestMessageSeconds();
    const values: Record<string, number> = {
      ApproximateNumberOfMessagesVisible: visible,
      ApproximateNumberOfMessagesNotVisible: inFlight,
      ApproximateNumberOfMessagesDelayed: delayed,
      ...(ageSeconds !== undefined && { ApproximateAgeOfOldestMessage: ageSeconds }),
      NumberOfMessagesSent: counts.sent - (before?.counts.sent ?? 0),
      NumberOfMessagesReceived: counts.received - (before?.counts.received ?? 0),
      NumberOfMessagesDeleted: counts.deleted - (before?.counts.deleted ?? 0),
      NumberOfEmptyReceives: counts.emptyReceives - (before?.counts.emptyReceives ?? 0),
    };
    const dimensions = { QueueName: queue.settings.name };
    return Object.entries(values).map(([name, value]) => ({
      metric: { namespace: 'AWS/SQS', name, dimensions },
      value,
      timestampMs,
    }));
  }

  /** A queue that was never used is inactive, as in a production stack that has run for days. */
  #usage(queue: SampledQueue, before: Usage | undefined, counts: Usage['counts'], timestampMs: number): Usage {
    const isPolled = queue.pendingReceives > 0 || this.#keptActive.has(queue.settings.name);
    if (isPolled) return { counts, usedAtMs: timestampMs, reportedFromMs: before?.reportedFromMs ?? timestampMs };
    const isUsed = JSON.stringify(counts) !== JSON.stringify(before?.counts ?? { ...counts, ...UNUSED });
    if (!isUsed) return { counts, usedAtMs: before?.usedAtMs ?? 0, reportedFromMs: before?.reportedFromMs ?? 0 };
    const wasActive = before !== undefined && timestampMs - before.usedAtMs <= ACTIVE_MS;
    return {
      counts,
      usedAtMs: timestampMs,
      reportedFromMs: wasActive ? before.reportedFromMs : timestampMs + ACTIVATION_MS,
    };
  }
}

const UNUSED: Usage['counts'] = { sent: 0, received: 0, deleted: 0, emptyReceives: 0, messages: 0 };
