import { describe, expect, it } from 'vitest';
import { loggedErrors } from '../../../bin/stack-trace/logged-error.ts';
import { parseStackFrame } from '../../../bin/stack-trace/stack-frame.ts';

const FRAME = 'at Xe (/var/task/index.js:37:58225)';
const release = '0123456789abcdef';
const line = JSON.stringify({
  level: 'ERROR',
  message: 'internal error',
  release,
  error: 'TypeError',
  code: 'E1',
  at: [FRAME],
});
const fromLine = { event: 'internal error', error: 'TypeError', code: 'E1', message: null, release, frames: [FRAME] };
const thrown = { errorType: 'TypeError', errorMessage: 'no x', stack: ['TypeError: no x', `    ${FRAME}`] };
const fromLambda = { event: null, error: 'TypeError', code: null, message: 'no x', release: null, frames: [FRAME] };

describe('the errors in a log', () => {
  it.each([
    ['a line of the service', line, [fromLine]],
    ['a line with the timestamp of `aws logs tail`', `2026-11-20T09:04:35 ${line}`, [fromLine]],
    ['several lines', `${line}\nSTART RequestId: 1\n${line}\n`, [fromLine, fromLine]],
    [
      'the output of `aws logs filter-log-events`',
      JSON.stringify({ events: [{ message: `${line}\n` }] }, null, 2),
      [fromLine],
    ],
    [
      'an exception that Lambda logs as text',
      `2026-11-20T09:04:35Z\tid\tERROR\tInvoke Error \t${JSON.stringify(thrown)}`,
      [fromLambda],
    ],
    [
      'an exception that Lambda logs as JSON',
      JSON.stringify({
        level: 'ERROR',
        message: { errorType: 'TypeError', errorMessage: 'no x', stackTrace: thrown.stack },
      }),
      [fromLambda],
    ],
    ['a stack trace', thrown.stack.join('\n'), [fromLambda]],
    ['two stack traces', [...thrown.stack, ...thrown.stack].join('\n'), [fromLambda, fromLambda]],
    ['text without an error', 'REPORT RequestId: 1\n{"message":"ok"}\n{ not json', []],
  ])('are found in %s', (_, text, errors) => {
    expect(loggedErrors(text)).toEqual(errors);
  });

  it('include the reason of an unhandled rejection', () => {
    const rejection = {
      errorType: 'Runtime.UnhandledPromiseRejection',
      errorMessage: 'TypeError: no x',
      reason: thrown,
      promise: {},
      stack: [
        'Runtime.UnhandledPromiseRejection: TypeError: no x',
        '    at process.<anonymous> (file:///var/runtime/index.mjs:1276:17)',
      ],
    };
    expect(loggedErrors(`ERROR\tUnhandled Promise Rejection \t${JSON.stringify(rejection)}`)).toContainEqual(
      fromLambda,
    );
  });

  it('have no release that is not one, because it names a file', () => {
    expect(loggedErrors(JSON.stringify({ release: '../../secret', at: [FRAME] }))).toMatchObject([{ release: null }]);
  });
});

it.each([
  [FRAME, { file: '/var/task/index.js', line: 37, column: 58225, method: null }],
  [
    '    at async Eo.send [as call] (/var/task/index.js:1:2)',
    { file: '/var/task/index.js', line: 1, column: 2, method: 'send' },
  ],
  ['at async /var/task/index.js:1:2', { file: '/var/task/index.js', line: 1, column: 2, method: null }],
  ['at file:///var/runtime/index.mjs:3:4', { file: 'file:///var/runtime/index.mjs', line: 3, column: 4, method: null }],
  ['at async Promise.all (index 0)', undefined],
  ['at Xe (/var/task/index.js:0:0)', undefined],
  ['TypeError: a', undefined],
])('parses the stack frame %s', (text, frame) => {
  expect(parseStackFrame(text)).toEqual(frame);
});
