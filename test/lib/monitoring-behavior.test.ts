import { MINUTE_MS } from 'local-aws/cloudwatch/metric-store.ts';
import { beforeEach, describe, expect, it } from 'vitest';
import { METRICS_NAMESPACE } from '../../shared/domain/delivery-metrics.ts';
import { readMonitoring } from '../cloudwatch/alarm-definition.ts';
import { CloudWatch } from '../cloudwatch/cloudwatch.ts';
import { synthesize } from '../support/stack.ts';

const { template } = synthesize();

/** The metrics that a sender writes for a batch in which something failed. */
type Batch = Record<string, number>;

describe('alarms of the template over hours', () => {
  let nowMs: number;
  let cloudWatch: CloudWatch;
  beforeEach(() => {
    nowMs = 0;
    cloudWatch = new CloudWatch({ plan: readMonitoring(template.toJSON()), now: () => nowMs });
  });

  /** Writes metrics with these sets of dimensions. */
  const writeWith = (Dimensions: string[][], values: Batch, type?: string) => {
    const Metrics = Object.keys(values).map((Name) => ({ Name }));
    const directive = { Namespace: METRICS_NAMESPACE, Dimensions, Metrics };
    const _aws = { Timestamp: nowMs, CloudWatchMetrics: [directive] };
    cloudWatch.log(JSON.stringify({ _aws, service: 'MonitoringNotifications', type, ...values }), 'f');
  };
  /** Writes metrics as the sender of a type does. */
  const write = (type: string, values: Batch) => writeWith([['service', 'type'], ['service']], values, type);

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

  const failing: Batch = { internal_errors: 1 };

  it('keep firing during an outage with a single message that is retried up to every 15 minutes', () => {
    const isRetried = (minute: number) => minute < 40 || minute % 15 === 9;
    const fired = advance(4 * 60, (minute) => {
      if (isRetried(minute)) write('webhook', { ...failing, oldest_unprocessed_seconds: 60 * minute });
    });
    expect(fired).toEqual(['InternalErrors', 'MessagesAging']);
    expect(cloudWatch.firing).toEqual(['MessagesAging']);
    advance(20);
    expect(cloudWatch.firing).toEqual([]);
  });

  it('fire for two types that fail in turns', () => {
    expect(advance(6, (minute) => write(minute % 4 < 2 ? 'webhook' : 'sms', failing))).toEqual(['InternalErrors']);
  });

  it('stay clear after single failures on a quiet system', () => {
    expect(advance(120, (minute) => minute % 30 === 0 && write('webhook', failing))).toEqual([]);
  });

  it('keep firing for SES failures of a single email, and clear 75 minutes after its second last attempt', () => {
    const attempts = new Set([0, 3, 14]);
    const fired = advance(70, (minute) => attempts.has(minute) && write('email', { service_failures: 1 }));
    expect(fired).toEqual(['SendingFailures']);
    expect(cloudWatch.firing).toEqual(['SendingFailures']);
    advance(15);
    expect(cloudWatch.firing).toEqual([]);
  });

  it('keep firing for emails that SES rejects every hour because of the daily quota', () => {
    const isRejected = (minute: number) => minute % 70 === 0 || minute % 70 === 20;
    const fired = advance(10 * 60, (minute) => isRejected(minute) && write('email', { service_failures: 1 }));
    expect(fired).toEqual(['SendingFailures']);
    expect(cloudWatch.firing).toEqual(['SendingFailures']);
  });

  it('stay clear after a single failure of SES', () => {
    expect(advance(4 * 60, (minute) => minute % 80 === 0 && write('email', { service_failures: 1 }))).toEqual([]);
  });

  it('fire for bounces of the account, and keep firing until SES reports fewer, which it does only while emails are sent', () => {
    expect(advance(60, () => cloudWatch.reputation({ BounceRate: 0.039, ComplaintRate: 0.0007 }))).toEqual([]);
    expect(advance(5, () => cloudWatch.reputation({ BounceRate: 0.04, ComplaintRate: 0.0007 }))).toEqual([
      'BounceRate',
    ]);
    advance(12 * 60);
    expect(cloudWatch.firing).toEqual(['BounceRate']);
    expect(advance(3 * 60, () => cloudWatch.reputation({ BounceRate: 0.03, ComplaintRate: 0.0008 }))).toEqual([
      'ComplaintRate',
    ]);
    expect(cloudWatch.firing).toEqual(['ComplaintRate']);
  });

  it('fire for 50 mailboxes that are stopped in an hour, not for 49, and clear an hour later', () => {
    const stop = (email_stops: number) => writeWith([['service']], { email_stops });
    expect(advance(110, (minute) => minute < 49 && stop(1))).toEqual([]);
    expect(advance(52, (minute) => minute < 50 && stop(1))).toEqual(['EmailStops']);
    advance(60);
    expect(cloudWatch.firing).toEqual([]);
  });

  it('fire while the watcher of the stream receives records five minutes late, and clear when it has caught up', () => {
    const watch = (oldest_record_seconds: number) => () => writeWith([['service']], { oldest_record_seconds });
    expect(advance(60, watch(299))).toEqual([]);
    expect(advance(5, watch(300))).toEqual(['ReportsLate']);
    advance(4, watch(10));
    expect(cloudWatch.firing).toEqual([]);
  });

  describe('on destinations', () => {
    /** Writes failed attempts of tenants and attempts that delivered alerts of a type, each minute. */
    const deliver = (failures: Readonly<Record<string, number>>, delivered: number, type = 'webhook') => {
      const attempt = (failure_excess: number) =>
        writeWith([['service', 'type'], ['service']], { failure_excess }, type);
      for (const [tenant_id, amount] of Object.entries(failures)) {
        const line = { message: 'delivery failed', cause: 'destination', destination: 'called', tenant_id };
        for (let count = 0; count < amount; count++) {
          cloudWatch.log(JSON.stringify(line), `Delivery-send-${type}`);
          attempt(1);
        }
      }
      for (let count = 0; count < delivered; count++) attempt(-1);
    };

    it('fire when most attempts of several tenants fail, also without any delivered alert', () => {
      expect(advance(60, () => deliver({ a: 4, b: 4, c: 4 }, 10))).toEqual(['DestinationFailures']);
      advance(60);
      expect(advance(60, () => deliver({ a: 1, b: 1, c: 1 }, 0))).toEqual(['DestinationFailures']);
    });

    it('fire when those of one type fail, which another type with more alerts does not hide', () => {
      const fired = advance(60, () => {
        deliver({}, 40);
        deliver({ a: 1, b: 1, c: 1 }, 1, 'atomfeed');
      });
      expect(fired).toEqual(['DestinationFailures']);
    });

    it.each<[string, Parameters<typeof deliver>]>([
      ['most attempts deliver alerts', [{ a: 4, b: 4, c: 4 }, 12]],
      ['they fail for two tenants', [{ a: 20, b: 20 }, 1]],
      ['an email service fails, which other alarms report', [{ a: 4, b: 4, c: 4 }, 0, 'email']],
    ])('stay clear while %s', (_, args) => {
      expect(advance(60, () => deliver(...args))).toEqual([]);
    });

    it('stay clear while some webhooks of several tenants fail, and all attempts of a few alerts of another type', () => {
      const fired = advance(60, (minute) => {
        deliver({ a: 1, b: 1, c: 1 }, 40);
        if (minute % 15 === 0) deliver({ d: 1 }, 0, 'atomfeed');
      });
      expect(fired).toEqual([]);
    });

    it('stay clear while a few attempts fail', () => {
      expect(advance(120, (minute) => minute % 15 < 8 && deliver({ [`tenant${minute % 3}`]: 3 }, 0))).toEqual([]);
    });
  });

  describe('on the endpoints of the operators', () => {
    const call = (type: string, failed: number, others = 0) => {
      for (let count = 0; count < failed; count++) write(type, { endpoint_failure_excess: 1 });
      for (let count = 0; count < others; count++) write(type, { endpoint_failure_excess: -1 });
    };

    it('fire for one that fails in the first attempts of one alert, not for two failures in half an hour', () => {
      const failIn = (minutes: readonly number[]) => (minute: number) =>
        minutes.includes(minute) && call('incidentrouter', 1);
      expect(advance(120, failIn([0, 20, 60, 80]))).toEqual([]);
      expect(advance(20, failIn([0, 2, 12]))).toEqual(['EndpointFailures']);
      advance(30);
      expect(cloudWatch.firing).toEqual([]);
    });

    it('stay clear while some of many calls fail, and fire for another endpoint with fewer calls, all of which fail', () => {
      const flaky = () => call('incidentpager', 5, 40);
      expect(advance(60, flaky)).toEqual([]);
      const fired = advance(10, () => {
        flaky();
        call('incidentrouter', 1);
      });
      expect(fired).toEqual(['EndpointFailures']);
    });
  });

  it('fire while senders record failures and the watcher of the stream sees none', () => {
    const record = (failures_unseen: number) => writeWith([['service']], { failures_unseen });
    const seen = (minute: number) => {
      record(2);
      if (minute % 4 === 0) record(-1);
    };
    expect(advance(60, seen)).toEqual([]);
    expect(advance(12, () => record(1))).toEqual(['FailuresNotSeen']);
    advance(7, seen);
    expect(cloudWatch.firing).toEqual([]);
  });

  /** Writes the report of an invocation, as Lambda does with its logging configuration. */
  const report = (status: string) =>
    cloudWatch.log(JSON.stringify({ type: 'platform.report', record: { status } }), 'Delivery-send-sms');

  it('keep firing for a crash while its message is received every 200 seconds, and clear afterwards', () => {
    let nextMs = 0;
    const fired = advance(5 * 60, () => {
      for (; nextMs < nowMs + MINUTE_MS; nextMs += 200_000) report('error');
    });
    expect(fired).toEqual(['FunctionErrors']);
    expect(cloudWatch.firing).toEqual(['FunctionErrors']);
    advance(14);
    expect(cloudWatch.firing).toEqual([]);
  });

  it('stay clear after a single crash, and after invocations that succeed', () => {
    report('timeout');
    expect(advance(60, () => report('success'))).toEqual([]);
  });

  it('keep firing for a crashed message for hours, and clear when the queue is empty', () => {
    const advanceWith = (minutes: number, visible: number) => {
      const settings = { name: 'CrashedQueue' };
      for (let minute = 0; minute < minutes; minute++) {
        nowMs += MINUTE_MS;
        cloudWatch.endMinute([
          { settings, counts: { visible }, pendingReceives: 0, ageOfOldestMessageSeconds: () => 60 },
        ]);
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
