import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { connect } from 'node:net';
import { embeddedMeasurements } from 'local-aws/cloudwatch/embedded-metrics.ts';
import { parseLogLine } from 'local-aws/lambda/log-line.ts';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { errorTrace, TRACED_ERRORS } from '../../shared/adapters/logger.ts';
import { count, emitMetrics, tally } from '../../shared/adapters/metrics.ts';

describe('the trace of an error', () => {
  it('has the class and the stack frames of the error, but not its message', () => {
    const { error, at, code } = errorTrace(new TypeError('secret'));
    expect([error, code]).toEqual(['TypeError', undefined]);
    expect(at[0]).toMatch(/logger\.test\.ts/);
  });

  it('has no line of a message that looks like a stack frame, also if it is replaced after its stack trace was read', () => {
    const error = new SyntaxError('failed:\n    at secret\n    at secret@example.com, more');
    expect(error.stack).toContain('secret');
    for (const message of [error.message, 'another']) {
      error.message = message;
      const { at } = errorTrace(error);
      expect(at[0]).toMatch(/logger\.test\.ts/);
      expect(at.join()).not.toContain('secret');
    }
  });

  it('has frames without a position in a file', async () => {
    const fail = async () => {
      await Promise.resolve();
      throw new Error('secret');
    };
    const { at } = errorTrace(await Promise.all([fail()]).catch((error: unknown) => error));
    expect(at).toContain('at async Promise.all (index 0)');
  });

  it('has more frames than an error of the AWS SDK has of its own', () => {
    const nested = (depth: number): Error => (depth === 0 ? new Error('deep') : nested(depth - 1));
    expect(errorTrace(nested(30)).at).toHaveLength(20);
  });

  it('is published to subscribers in the process with the message, once', () => {
    const received: unknown[] = [];
    const subscriber = (error: unknown) => received.push(error);
    subscribe(TRACED_ERRORS, subscriber);
    const error = new TypeError('reason');
    errorTrace(error);
    unsubscribe(TRACED_ERRORS, subscriber);
    errorTrace(error);
    expect(received).toEqual([error]);
  });

  it('has the code of a failed connection', async () => {
    const [error] = await once(connect({ host: '127.0.0.1', port: 1 }), 'error');
    expect(errorTrace(error)).toMatchObject({ error: 'Error', code: 'ECONNREFUSED' });
  });

  it.each([
    ['an email address', 'secret-recipient@example.com'],
    ['a sentence', 'The secret is out'],
    ['a number', 42],
    ['an object', { secret: true }],
    ['a very long one', 'E'.repeat(65)],
  ])('omits a code that is %s', (_, code) => {
    expect(errorTrace(Object.assign(new Error('secret'), { code }))).not.toHaveProperty('code');
  });

  it('has only the type of a thrown value that is not an Error', () => {
    expect(errorTrace('secret')).toEqual({ error: 'string', at: [] });
  });
});

let lines: string[] = [];
beforeEach(() => {
  lines = [];
  vi.stubEnv('STACK_NAME', 'MonitoringNotifications');
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => lines.push(String(text)) > 0);
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

/** Returns the measurements that CloudWatch reads from the written lines, as `name dimensions=value`. */
const measured = () =>
  lines
    .flatMap((line) => embeddedMeasurements(parseLogLine(line) ?? {}))
    .map(({ metric, value }) => {
      const { service, ...dimensions } = metric.dimensions;
      return `${[metric.namespace, service, ...Object.values(dimensions)].join('/')} ${metric.name}=${value}`;
    });

const STACK = 'MonitoringNotifications/MonitoringNotifications';

describe('metrics', () => {
  it('are one log line with all durations of a batch', () => {
    emitMetrics({ retried: 1 }, { type: 'webhook' }, { send_latency: [120, 80] });
    expect(lines).toEqual([expect.stringMatching(/^\{"_aws":.*\}\n$/)]);
    expect(measured()).toEqual([
      `${STACK}/webhook retried=1`,
      `${STACK}/webhook send_latency=120`,
      `${STACK}/webhook send_latency=80`,
    ]);
  });

  it('that alarms read have a second set of dimensions, without the type, and those of all deliveries only that', () => {
    emitMetrics({ deliveries_delivered: 1, internal_errors: 2, retried: 1 }, { type: 'sms' });
    expect(lines).toHaveLength(1);
    expect(measured().toSorted()).toEqual([
      `${STACK} deliveries_delivered=1`,
      `${STACK} internal_errors=2`,
      `${STACK}/sms internal_errors=2`,
      `${STACK}/sms retried=1`,
    ]);
  });

  it('without a type are emitted once', () => {
    count({ internal_errors: 1 });
    expect(measured()).toEqual([`${STACK} internal_errors=1`]);
  });

  it('are omitted if they are 0; no line is written if all are 0', () => {
    emitMetrics({ failed: 0 }, { type: 'sms' }, { send_latency: [] });
    expect(lines).toEqual([]);
    count({ failed: 0, retried: 1 });
    expect(measured()).toEqual([`${STACK} retried=1`]);
  });

  it('need further lines for more than 100 values, with the counts only in the first', () => {
    emitMetrics({ retried: 3 }, { type: 'webhook' }, { send_latency: Array(250).fill(5) });
    expect(lines).toHaveLength(3);
    const values = measured();
    expect(values.filter((value) => value === `${STACK}/webhook send_latency=5`)).toHaveLength(250);
    expect(values.filter((value) => value === `${STACK}/webhook retried=3`)).toHaveLength(1);
  });

  it('of a batch of one are at most 400 bytes in the sender and 240 in dispatch', () => {
    emitMetrics({ internal_errors: 0, deliveries_delivered: 1 }, { type: 'webhook' }, { delivery_latency: [1_234] });
    count({ unknown_notifications: 0, deliveries_planned: 1 });
    const [sender = 0, dispatch = 0] = lines.map((line) => Buffer.byteLength(line));
    expect(lines).toHaveLength(2);
    expect(sender).toBeLessThanOrEqual(400);
    expect(dispatch).toBeLessThanOrEqual(240);
  });
});

it('tally counts the occurrences of each name', () => {
  expect(tally(['a', 'b', 'a'])).toEqual({ a: 2, b: 1 });
});

it('nothing is printed outside a function, so that the output of the command line remains JSON', () => {
  const printed = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  vi.stubEnv('STACK_NAME', undefined);
  count({ unreadable_notifications: 1 });
  expect(printed).not.toHaveBeenCalled();
});
