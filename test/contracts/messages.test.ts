import { describe, expect, it } from 'vitest';
import { envelope, testRequest, testResult } from '../../shared/contracts/messages.ts';
import { alarmHeader } from '../support/events.ts';
import { validDetails } from '../support/notifications.ts';

const request = { tenant: 'acme', type: 'webhook', details: validDetails.webhook };

describe('the envelope of a delivery message', () => {
  const shared = { accepted_at_ms: 1, content_hash: 'hash', event: alarmHeader() };

  it('requires a notification, a valid event, when SQS accepted it, and its digest', () => {
    expect(envelope.safeParse({ notification_id: 'ntA', ...shared }).success).toBe(true);
    expect(envelope.safeParse({ ...shared }).success).toBe(false);
    for (const changes of [{ event: {} }, { accepted_at_ms: undefined }, { content_hash: undefined }, { round: 0 }])
      expect(envelope.safeParse({ notification_id: 'ntA', ...shared, ...changes }).success).toBe(false);
  });
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
