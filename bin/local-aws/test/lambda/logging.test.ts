import { expect, it } from 'vitest';
import { isStored, reportLine } from '../../lambda/logging.ts';

const time = new Date(0);

it('stores the lines of a function without a level, as metrics have none, and from INFO on', () => {
  for (const line of ['{"_aws":{}}', 'text', '{"level":"INFO"}', '{"level":"error"}']) {
    expect([line, isStored(line)]).toEqual([line, true]);
  }
  expect(isStored('{"level":"DEBUG"}')).toBe(false);
});

it.each([
  ['TypeError', 'error'],
  ['Sandbox.Timedout', 'timeout'],
  ['Runtime.ExitError', 'failure'],
])('the report of an invocation names how it failed: %s', (errorType, status) => {
  const line = reportLine({ requestId: 'r1', durationMs: 5, failure: { errorType } }, 'WARN', time) ?? '';
  expect(JSON.parse(line).record).toEqual({ requestId: 'r1', metrics: { durationMs: 5 }, status });
});

it('the report of a success is logged only from the system level INFO down', () => {
  const success = { requestId: 'r1', durationMs: 5 };
  expect(reportLine(success, 'WARN', time)).toBeUndefined();
  expect(reportLine(success, 'INFO', time)).toContain('"status":"success"');
});
