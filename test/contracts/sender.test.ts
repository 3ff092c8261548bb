import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { delivery, deliveryBody, testRequest, testResult } from '../../shared/contracts/sender.ts';
import { alarmEvent } from '../support/events.ts';
import { goodDetails } from '../support/notifications.ts';

const request = { kind: 'test', tenant: 'acme', type: 'webhook', details: goodDetails.webhook };

describe('a delivery on its way to a sender', () => {
  it('carries the text of its event as it came, and the id of the notification', () => {
    const text = ' { "b": 1.0, "a" : 18446744073709551615 } ';
    expect(deliveryBody('ntA', text)).toBe(`{"notification_id":"ntA","event":${text}}`);
  });

  it('is read back as what it was made of, whatever the id is', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (id) => {
        const read = delivery.safeParse(JSON.parse(deliveryBody(id, JSON.stringify(alarmEvent()))));
        expect(read.data).toEqual({ notification_id: id, event: alarmEvent() });
      }),
    );
  });

  it('is none without an event that is one', () => {
    expect(delivery.safeParse({ notification_id: 'ntA', event: {} }).success).toBe(false);
    expect(delivery.safeParse({ event: alarmEvent() }).success).toBe(false);
  });
});

describe('a test that a sender is asked for', () => {
  it('names the tenant, the type and the details', () => {
    expect(testRequest.parse(request)).toEqual(request);
  });

  it.each([
    ['another kind', { kind: 'alert' }],
    ['a tenant that can be none', { tenant: 'a b' }],
    ['an unknown type', { type: '__proto__' }],
    ['details that are no object', { details: 'url' }],
    ['no details', { details: null }],
  ])('is refused with %s', (_, changes) => {
    expect(testRequest.safeParse({ ...request, ...changes }).success).toBe(false);
  });

  it('answers with a status of two, and a message', () => {
    expect(testResult.safeParse({ status: 'success', message: 'm' }).success).toBe(true);
    expect(testResult.safeParse({ status: 'failure', message: 'm' }).success).toBe(true);
    expect(testResult.safeParse({ status: 'ok', message: 'm' }).success).toBe(false);
    expect(testResult.safeParse({ status: 'success' }).success).toBe(false);
  });
});
