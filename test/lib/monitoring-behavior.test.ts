import { beforeEach, describe, expect, it } from 'vitest';
import { readMonitoring } from '../../bin/local/aws/cloudwatch/alarm-definition.ts';
import { CloudWatch } from '../../bin/local/aws/cloudwatch/cloudwatch.ts';
import { MINUTE_MS } from '../../bin/local/aws/cloudwatch/metric-store.ts';
import { METRICS_NAMESPACE } from '../../shared/domain/delivery-metrics.ts';
import { sampledQueue } from '../local/aws/support/sampled-queue.ts';
import { synthesize } from '../support/stack.ts';

const { template } = synthesize({ 'aws:cdk:enable-path-metadata': true });

/** The metrics that a sender writes for a batch. */
type Batch = {
  internal_errors: number;
  handled: number;
  oldest_unprocessed_seconds?: number;
  service_failures?: number;
};

describe('alarms of the template over hours', () => {
  let nowMs: number;
  let cloudWatch: CloudWatch;
  beforeEach(() => {
    nowMs = 0;
    cloudWatch = new CloudWatch({ plan: readMonitoring(template.toJSON()), now: () => nowMs });
  });

  /** Writes the batch metrics of a type's sender. */
  const write = (type: string, batch: Batch) => {
    const values = { oldest_unprocessed_seconds: 0, ...batch };
    const Metrics = Object.keys(values).map((Name) => ({ Name }));
    const directive = { Namespace: METRICS_NAMESPACE, Dimensions: [['service', 'type']], Metrics };
    const _aws = { Timestamp: nowMs, CloudWatchMetrics: [directive] };
    cloudWatch.log(JSON.stringify({ _aws, service: 'MonitoringNotifications', type, ...values }), 'f');
  };

  /** Advances time by `minutes`, calling `onMinute` in each. @returns the names of the alarms that fired, in order */
  const advance = (minutes: number, onMinute: (minute: number) => void = () => undefined): string[] => {
    const previousTransitions = cloudWatch.transitions.length;
    for (let minute = 0; minute < minutes; minute++) {
      onMinute(minute);
      nowMs += MINUTE_MS;
      cloudWatch.endMinute([]);
    }
    return cloudWatch.transitions
      .slice(previousTransitions)
      .flatMap(({ alarm, state }) => (state === 'ALARM' ? alarm : []));
  };

  const failing: Batch = { internal_errors: 1, handled: 0 };
  const healthy: Batch = { internal_errors: 0, handled: 1 };
  const stuck: Batch = { internal_errors: 1, handled: 0, oldest_unprocessed_seconds: 400 };

  it('keep firing during an outage with a single message that is retried up to every 15 minutes', () => {
    const isRetried = (minute: number) => minute < 40 || minute % 15 === 9;
    const fired = advance(4 * 60, (minute) => {
      if (isRetried(minute)) write('webhook', { ...failing, oldest_unprocessed_seconds: 60 * minute });
    });
    expect(fired).toEqual(['InternalErrors-send-webhook', 'MessagesAging-send-webhook']);
    expect(cloudWatch.firing).toEqual(['MessagesAging-send-webhook']);
    advance(20, (minute) => minute === 0 && write('webhook', healthy));
    expect(cloudWatch.firing).toEqual([]);
  });

  it('clear after the last message succeeds, even if no message follows', () => {
    expect(advance(4, () => write('webhook', failing))).toEqual(['InternalErrors-send-webhook']);
    advance(11, (minute) => minute === 0 && [failing, healthy].map((batch) => write('webhook', batch)));
    expect(cloudWatch.firing).toEqual([]);
  });

  it('stay clear below 1% of internal errors, and fire at 1%', () => {
    const batches = (handled: number) => () => write('webhook', { internal_errors: 1, handled });
    expect(advance(60, batches(100))).toEqual([]);
    expect(advance(10, batches(99))).toEqual(['InternalErrors-send-webhook']);
  });

  it('stay clear after single failures on a quiet system', () => {
    expect(advance(120, (minute) => minute % 30 === 0 && write('webhook', failing))).toEqual([]);
  });

  it('fire for one stuck message among many successful ones, and clear 18 minutes after it succeeds', () => {
    const busy = (minute: number) => {
      for (let batch = 0; batch < 200; batch++) write('webhook', healthy);
      if (minute % 15 === 0) write('webhook', stuck);
    };
    expect(advance(3 * 60, busy)).toEqual(['MessagesAging-send-webhook']);
    expect(cloudWatch.firing).toEqual(['MessagesAging-send-webhook']);
    advance(20, () => write('webhook', healthy));
    expect(cloudWatch.firing).toEqual([]);
  });

  it('fire for SES failures until the fifth attempt of a single email, and clear when SES accepts it', () => {
    const rejected: Batch = { internal_errors: 0, handled: 1, service_failures: 1 };
    const attempts = new Set([0, 3, 14]);
    expect(advance(15, (minute) => attempts.has(minute) && write('email', rejected))).toEqual([
      'SendingFailures-email',
    ]);
    expect(cloudWatch.firing).toEqual(['SendingFailures-email']);
    advance(20, (minute) => minute === 0 && write('email', healthy));
    expect(cloudWatch.firing).toEqual([]);
  });

  it('keep firing for a crash while its message is received every 200 seconds, and clear afterwards', () => {
    const recordInvocation = (atMs: number, result: 'success' | 'error') =>
      cloudWatch.invocation({ functionName: 'Delivery-send-sms', endedAtMs: atMs, result, durationMs: 1 });
    let nextMs = 0;
    const fired = advance(5 * 60, () => {
      recordInvocation(nowMs, 'success');
      for (; nextMs < nowMs + MINUTE_MS; nextMs += 200_000) recordInvocation(nextMs, 'error');
    });
    expect(fired).toEqual(['Errors-send-sms']);
    expect(cloudWatch.firing).toEqual(['Errors-send-sms']);
    advance(14, () => recordInvocation(nowMs, 'success'));
    expect(cloudWatch.firing).toEqual([]);
  });

  it('stay clear after a single crash', () => {
    cloudWatch.invocation({ functionName: 'Delivery-send-sms', endedAtMs: 1, result: 'error', durationMs: 1 });
    expect(advance(60)).toEqual([]);
  });

  it('fire for late messages if SQS reports a minute late and the retry queue reports nothing', () => {
    const queue = sampledQueue({
      settings: { name: 'Delivery-webhook' },
      pendingReceives: 1,
      ageOfOldestMessageSeconds: () => 301,
    });
    for (let minute = 0; minute < 6; minute++) {
      nowMs += MINUTE_MS;
      cloudWatch.endMinute([queue]);
    }
    expect(cloudWatch.firing).toEqual(['QueueAge-webhook']);
  });

  it('keep firing for a crashed message for hours, and clear when the queue is empty', () => {
    const crashedQueue = (visible: number) =>
      sampledQueue({
        settings: { name: 'CrashedQueue' },
        counts: { visible, delayed: 0, inFlight: 0 },
        ageOfOldestMessageSeconds: () => 60,
      });
    const advanceWith = (minutes: number, visible: number) => {
      for (let minute = 0; minute < minutes; minute++) {
        nowMs += MINUTE_MS;
        cloudWatch.endMinute([crashedQueue(visible)]);
      }
    };
    advanceWith(7 * 60, 0);
    expect(cloudWatch.firing).toEqual([]);
    advanceWith(2, 1);
    expect(cloudWatch.firing).toEqual(['CrashedMessages']);
    advanceWith(7 * 60, 1);
    advanceWith(3, 0);
    expect(
      cloudWatch.transitions.filter(({ alarm, state }) => alarm === 'CrashedMessages' && state === 'ALARM'),
    ).toHaveLength(1);
    expect(cloudWatch.firing).toEqual([]);
  });
});
