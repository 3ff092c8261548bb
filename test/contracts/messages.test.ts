import fc from 'fast-check';
import { isValidContent } from 'local-aws/sqs/queued-message.ts';
import { describe, expect, it } from 'vitest';
import { envelope, messageBody, serializeBody, testRequest, testResult } from '../../shared/contracts/messages.ts';
import { alarmHeader } from '../support/events.ts';
import { validDetails } from '../support/notifications.ts';
import { forAll } from '../support/quick-run.ts';

const request = { tenant: 'acme', type: 'webhook', details: validDetails.webhook };

const shared = { accepted_at_ms: 1, content_hash: 'hash', event: alarmHeader() };

it('the envelope of a delivery message requires a notification, a valid event, when SQS accepted it, and its digest', () => {
  expect(envelope.safeParse({ notification_id: 'ntA', ...shared }).success).toBe(true);
  expect(envelope.safeParse({ ...shared }).success).toBe(false);
  for (const changes of [{ event: {} }, { accepted_at_ms: undefined }, { content_hash: undefined }, { round: 0 }])
    expect(envelope.safeParse({ notification_id: 'ntA', ...shared, ...changes }).success).toBe(false);
});

describe('a test request', () => {
  it.each([
    ['an invalid tenant', { tenant: 'a b' }],
    ['an unknown type', { type: '__proto__' }],
    ['details that are a string', { details: 'url' }],
    ['no details', { details: null }],
  ])('is rejected with %s', (_, changes) => {
    expect(testRequest.parse(request)).toEqual(request);
    expect(testRequest.safeParse({ ...request, ...changes }).success).toBe(false);
  });

  it('has a result with the status success or failure, and a message', () => {
    for (const status of ['success', 'failure'])
      expect(testResult.safeParse({ status, message: 'm' }).success).toBe(true);
    for (const invalid of [{ status: 'ok', message: 'm' }, { status: 'success' }])
      expect(testResult.safeParse(invalid).success).toBe(false);
  });
});

const EXCLUDED = '\ufffe\uffff';

describe('the body of a message', () => {
  it('has only characters that SQS accepts, and the same value, for any JSON value', () => {
    const text = fc.string({ unit: fc.oneof(fc.constantFrom(...EXCLUDED, '\ud800', '\u0001', '\\'), fc.string()) });
    const { value } = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 3 },
        text,
        fc.double({ noNaN: true }).map(String),
        fc.array(tie('value')),
        // Node.js 24.21 reads an escaped character wrong in a key that follows another key with one.
        fc.dictionary(text, tie('value'), { maxKeys: 1 }),
      ),
    }));
    forAll()(value, (each) => {
      const body = serializeBody(each);
      expect(isValidContent(body)).toBe(true);
      expect(JSON.parse(body)).toEqual(JSON.parse(JSON.stringify(each)));
    });
  });

  it('is the JSON itself, white space and digits included, unless SQS rejects a character', () => {
    const json = ' {"a" : 1.0, "b": "ä😀\\ufffe"}';
    expect(messageBody(json)).toBe(json);
    expect(messageBody(`["${EXCLUDED}"]`)).toBe('["\\ufffe\\uffff"]');
  });
});
