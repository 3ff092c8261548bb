import { beforeEach, describe, expect, it } from 'vitest';
import { readMonitoring } from '../../bin/local/aws/cloudwatch/alarm-definition.ts';
import { CloudWatch } from '../../bin/local/aws/cloudwatch/cloudwatch.ts';
import { MINUTE_MS } from '../../bin/local/aws/cloudwatch/metric-store.ts';
import { METRICS_NAMESPACE } from '../../shared/domain/delivery-metrics.ts';
import { synthesized } from '../support/stack.ts';

const { template } = synthesized({ 'aws:cdk:enable-path-metadata': true });

/** What a sender writes for a batch. */
type Batch = {
  internal_errors: number;
  handled: number;
  oldest_unprocessed_seconds?: number;
  service_failures?: number;
};

describe('over hours, the alarms of the template', () => {
  let nowMs: number;
  let watch: CloudWatch;
  beforeEach(() => {
    nowMs = 0;
    watch = new CloudWatch({ plan: readMonitoring(template.toJSON()), now: () => nowMs });
  });

  /** Writes the metrics of a batch of a type, as the sender does. */
  const write = (type: string, batch: Batch) => {
    const values = { oldest_unprocessed_seconds: 0, ...batch };
    const Metrics = Object.keys(values).map((Name) => ({ Name }));
    const directive = { Namespace: METRICS_NAMESPACE, Dimensions: [['service', 'type']], Metrics };
    const _aws = { Timestamp: nowMs, CloudWatchMetrics: [directive] };
    watch.log(JSON.stringify({ _aws, service: 'MonitoringNotifications', type, ...values }), 'f');
  };

  /** Lets minutes pass; what happens in each is told by its number. The alarms that fire meanwhile, in order. */
  const pass = (minutes: number, happen: (minute: number) => void = () => undefined): string[] => {
    const before = watch.transitions.length;
    for (let minute = 0; minute < minutes; minute++) {
      happen(minute);
      nowMs += MINUTE_MS;
      watch.endMinute([]);
    }
    return watch.transitions.slice(before).flatMap(({ alarm, state }) => (state === 'ALARM' ? alarm : []));
  };

  const failing: Batch = { internal_errors: 1, handled: 0 };
  const healthy: Batch = { internal_errors: 0, handled: 1 };
  const stuck: Batch = { internal_errors: 1, handled: 0, oldest_unprocessed_seconds: 400 };

  it('keep an outage on a quiet system firing while its only message is tried again, every 15 minutes in the end', () => {
    const tried = (minute: number) => minute < 40 || minute % 15 === 9;
    const fired = pass(4 * 60, (minute) => {
      if (tried(minute)) write('webhook', { ...failing, oldest_unprocessed_seconds: 60 * minute });
    });
    expect(fired).toEqual(['InternalErrors-send-webhook', 'MessagesAging-send-webhook']);
    expect(watch.firing).toEqual(['MessagesAging-send-webhook']);
    pass(20, (minute) => minute === 0 && write('webhook', healthy));
    expect(watch.firing).toEqual([]);
  });

  it('clear after the last message has passed, although none follows', () => {
    expect(pass(4, () => write('webhook', failing))).toEqual(['InternalErrors-send-webhook']);
    pass(11, (minute) => minute === 0 && [failing, healthy].map((batch) => write('webhook', batch)));
    expect(watch.firing).toEqual([]);
  });

  it('stay clear while less than 1 % of the messages fail, and fire at 1 %', () => {
    const batches = (handled: number) => () => write('webhook', { internal_errors: 1, handled });
    expect(pass(60, batches(100))).toEqual([]);
    expect(pass(10, batches(99))).toEqual(['InternalErrors-send-webhook']);
  });

  it('stay clear at a single failure, however quiet the system is', () => {
    expect(pass(120, (minute) => minute % 30 === 0 && write('webhook', failing))).toEqual([]);
  });

  it('keep one stuck message firing among many that pass, and clear 18 minutes after it has passed', () => {
    const busy = (minute: number) => {
      for (let batch = 0; batch < 200; batch++) write('webhook', healthy);
      if (minute % 15 === 0) write('webhook', stuck);
    };
    expect(pass(3 * 60, busy)).toEqual(['MessagesAging-send-webhook']);
    expect(watch.firing).toEqual(['MessagesAging-send-webhook']);
    pass(20, () => write('webhook', healthy));
    expect(watch.firing).toEqual([]);
  });

  it('keep failures of SES firing until the fifth attempt of a single email, and clear when it was accepted', () => {
    const refused: Batch = { internal_errors: 0, handled: 1, service_failures: 1 };
    const attempts = new Set([0, 3, 14]);
    expect(pass(15, (minute) => attempts.has(minute) && write('email', refused))).toEqual(['SendingFailures-email']);
    expect(watch.firing).toEqual(['SendingFailures-email']);
    pass(20, (minute) => minute === 0 && write('email', healthy));
    expect(watch.firing).toEqual([]);
  });

  it('keep a crash firing while its message is received every 200 seconds, and clear when it is gone', () => {
    const invoked = (atMs: number, result: 'success' | 'error') =>
      watch.invocation({ functionName: 'Delivery-send-sms', endedAtMs: atMs, result, durationMs: 1 });
    let nextMs = 0;
    const fired = pass(5 * 60, () => {
      invoked(nowMs, 'success');
      for (; nextMs < nowMs + MINUTE_MS; nextMs += 200_000) invoked(nextMs, 'error');
    });
    expect(fired).toEqual(['Errors-send-sms']);
    expect(watch.firing).toEqual(['Errors-send-sms']);
    pass(14, () => invoked(nowMs, 'success'));
    expect(watch.firing).toEqual([]);
  });

  it('stay clear at a single crash', () => {
    watch.invocation({ functionName: 'Delivery-send-sms', endedAtMs: 1, result: 'error', durationMs: 1 });
    expect(pass(60)).toEqual([]);
  });

  it('see late messages although SQS reports a minute late, and one queue of the two reports nothing', () => {
    const queue = {
      settings: { name: 'Delivery-webhook' },
      counts: { visible: 1, delayed: 0, inFlight: 0 },
      totals: { sent: 1, received: 0, deleted: 0, emptyReceives: 0 },
      pendingReceives: 1,
      ageOfOldestMessageSeconds: () => 301,
    };
    for (let minute = 0; minute < 6; minute++) {
      nowMs += MINUTE_MS;
      watch.endMinute([queue]);
    }
    expect(watch.firing).toEqual(['QueueAge-webhook']);
  });

  it('keep a crashed message firing for hours, and clear when the queue is empty', () => {
    const crashed = (visible: number) => ({
      settings: { name: 'Crashed' },
      counts: { visible, delayed: 0, inFlight: 0 },
      totals: { sent: 0, received: 0, deleted: 0, emptyReceives: 0 },
      pendingReceives: 0,
      ageOfOldestMessageSeconds: () => 60,
    });
    const passWith = (minutes: number, visible: number) => {
      for (let minute = 0; minute < minutes; minute++) {
        nowMs += MINUTE_MS;
        watch.endMinute([crashed(visible)]);
      }
    };
    passWith(7 * 60, 0);
    expect(watch.firing).toEqual([]);
    passWith(2, 1);
    expect(watch.firing).toEqual(['Crashed']);
    passWith(7 * 60, 1);
    passWith(3, 0);
    expect(watch.transitions.filter(({ alarm, state }) => alarm === 'Crashed' && state === 'ALARM')).toHaveLength(1);
    expect(watch.firing).toEqual([]);
  });
});
