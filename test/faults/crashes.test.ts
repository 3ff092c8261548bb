// The simulation has no log of the local stack.
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../support/until.ts';
import { type FaultyStack, startFaultyStack } from './support.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const rejection = { status: 400, type: 'ValidationException', message: 'the secret reason' };

const errors: string[] = [];
const rawLines: string[] = [];
let harness: FaultyStack;
beforeAll(async () => {
  harness = await startFaultyStack(
    {},
    { logError: (line) => errors.push(line), rawLog: (line) => rawLines.push(line) },
  );
});
afterAll(() => harness.stack.stop());

describe('an error in a function', () => {
  it('appears on the local stack with TypeScript lines and its message, and in the log of AWS without the message', async () => {
    const client = await harness.newClient();
    const recover = harness.injectFault(
      rejection,
      ({ service, caller }) => service === 'dynamodb' && caller.includes('get-account'),
    );
    expect((await client.get('/account')).status).toBe(503);
    recover();

    const line = await until(async () => harness.lines.find((text) => text.includes('ERROR request failed')));
    const [, source = '', lineNumber = ''] =
      /\n {4}at async Object\.find \((shared\/\S+\.ts):(\d+):\d+\)\n/.exec(line) ?? [];
    const code = readFileSync(resolve(ROOT, source), 'utf8').split('\n')[Number(lineNumber) - 1];
    expect(code).toContain('await client.send(new GetCommand');
    expect(line).toMatch(/\n {4}at async shared\/\S+\.ts:\d+:\d+\n/);
    expect(line).not.toContain(rejection.message);

    const error = await until(async () => errors.find((text) => text.includes(rejection.message)));
    expect(error).toMatch(/^\S+ Api-get-account ValidationException: the secret reason$/);

    const raw = rawLines.join('\n');
    expect(raw).toMatch(/"release":"[0-9a-f]{16}"/);
    expect(raw).toMatch(/at async Object\.find \(\S+\/index\.js:/);
    expect(raw).not.toContain(rejection.message);
  });
});
