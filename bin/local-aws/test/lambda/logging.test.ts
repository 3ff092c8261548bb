import { describe, expect, it } from 'vitest';
import { isStored, loggingConfig, reportLine } from '../../lambda/logging.ts';

const text = loggingConfig.parse(undefined);
const json = loggingConfig.parse({ LogFormat: 'JSON', SystemLogLevel: 'WARN' });
const time = new Date(0);

describe('the log lines of a function', () => {
  it('are stored without a level, as metrics have none, and from INFO on', () => {
    const metric = JSON.stringify({ _aws: {} });
    for (const line of [metric, 'text', '{"level":"INFO"}', '{"level":"error"}']) {
      expect([line, isStored(line, json)]).toEqual([line, true]);
    }
    expect(isStored('{"level":"DEBUG"}', json)).toBe(false);
    expect(isStored('{"level":"DEBUG"}', text)).toBe(true);
  });

  it('are dropped without a level if the level of the application is above INFO', () => {
    const warn = loggingConfig.parse({ LogFormat: 'JSON', ApplicationLogLevel: 'WARN' });
    expect(isStored('{"_aws":{}}', warn)).toBe(false);
    expect(isStored('{"level":"WARN"}', warn)).toBe(true);
  });
});

describe('the report of an invocation', () => {
  const success = { requestId: 'r1', durationMs: 5 };
  const failed = (errorType: string) => ({ ...success, failure: { errorType } });
  const status = (invocation: Parameters<typeof reportLine>[0]) =>
    JSON.parse(reportLine(invocation, json, time) ?? '{}').record?.status;

  it.each([
    ['TypeError', 'error'],
    ['Sandbox.Timedout', 'timeout'],
    ['Runtime.ExitError', 'failure'],
    ['Runtime.OutOfMemory', 'failure'],
  ])('names how it failed: %s', (errorType, expected) => {
    expect(status(failed(errorType))).toBe(expected);
  });

  it('is logged after success only from the system level INFO down', () => {
    expect(reportLine(success, json, time)).toBeUndefined();
    const info = loggingConfig.parse({ LogFormat: 'JSON' });
    expect(JSON.parse(reportLine(success, info, time) ?? '')).toEqual({
      time: '1970-01-01T00:00:00.000Z',
      type: 'platform.report',
      record: { requestId: 'r1', metrics: { durationMs: 5 }, status: 'success' },
    });
  });

  it('is no JSON in the text format', () => {
    expect(reportLine(failed('Error'), text, time)).toBeUndefined();
  });
});
