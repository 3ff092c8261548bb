import { once } from 'node:events';
import { connect } from 'node:net';
import { SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { describe, expect, it } from 'vitest';
import { errorTrace } from '../../shared/adapters/logger.ts';

/** Port 1 of this machine: nothing listens there. */
const CLOSED_PORT = 1;

const rejection = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error) => error,
  );

describe('the trace of an error', () => {
  it('says where it was thrown, and nothing of its text', () => {
    const { error, at, code } = errorTrace(new TypeError('secret'));
    expect([error, code]).toEqual(['TypeError', undefined]);
    expect(at[0]).toMatch(/logger\.test\.ts/);
    expect(JSON.stringify(errorTrace(new TypeError('secret\n    at secret')))).not.toContain('"secret');
  });

  it('has the code of a connection that failed', async () => {
    const [error] = await once(connect({ host: '127.0.0.1', port: CLOSED_PORT }), 'error');
    expect(errorTrace(error)).toMatchObject({ error: 'Error', code: 'ECONNREFUSED' });
  });

  it('has the code of a connection of the AWS SDK that failed', async () => {
    const endpoint = `http://127.0.0.1:${CLOSED_PORT}`;
    const credentials = { accessKeyId: 'test', secretAccessKey: 'test' };
    const sqs = new SQSClient({ endpoint, region: 'us-east-1', credentials, maxAttempts: 1 });
    const error = await rejection(
      sqs.send(new SendMessageCommand({ QueueUrl: `${endpoint}/1/q`, MessageBody: 'secret' })),
    );
    expect(errorTrace(error)).toMatchObject({ code: 'ECONNREFUSED' });
  });

  it.each([
    ['a text that is no code', 'secret-recipient@example.com'],
    ['a sentence', 'The secret is out'],
    ['a number', 42],
    ['an object', { secret: true }],
    ['a very long one', 'E'.repeat(65)],
  ])('leaves out a code that is %s', (_, code) => {
    expect(errorTrace(Object.assign(new Error('secret'), { code }))).not.toHaveProperty('code');
  });

  it('of what is no error has its type alone', () => {
    expect(errorTrace('secret')).toEqual({ error: 'string', at: [] });
  });
});
