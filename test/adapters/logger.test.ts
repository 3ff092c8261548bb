import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { connect } from 'node:net';
import { SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { describe, expect, it } from 'vitest';
import { errorTrace } from '../../shared/adapters/logger.ts';
import { TRACED_ERRORS } from '../../shared/adapters/traced-errors.ts';

/** A port without a listener. */
const CLOSED_PORT = 1;

const rejection = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error) => error,
  );

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
    const { at } = errorTrace(await rejection(Promise.all([fail()])));
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
    const [error] = await once(connect({ host: '127.0.0.1', port: CLOSED_PORT }), 'error');
    expect(errorTrace(error)).toMatchObject({ error: 'Error', code: 'ECONNREFUSED' });
  });

  it('has the code of a failed connection of the AWS SDK', async () => {
    const endpoint = `http://127.0.0.1:${CLOSED_PORT}`;
    const credentials = { accessKeyId: 'test', secretAccessKey: 'test' };
    const sqs = new SQSClient({ endpoint, region: 'us-east-1', credentials, maxAttempts: 1 });
    const error = await rejection(
      sqs.send(new SendMessageCommand({ QueueUrl: `${endpoint}/1/q`, MessageBody: 'secret' })),
    );
    expect(errorTrace(error)).toMatchObject({ code: 'ECONNREFUSED' });
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
