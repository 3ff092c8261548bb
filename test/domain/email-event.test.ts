import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { deliveryKey } from '../../shared/domain/delivery-key.ts';
import { deliveryKeyFromTags, emailTags } from '../../shared/domain/email-event.ts';
import { DEFAULT_NOTIFICATION_ID, newNotificationId } from '../../shared/domain/notification-id.ts';
import { alarmEvent } from '../support/events.ts';

const tenants = fc
  .array(fc.integer({ min: 0x21, max: 0x7e }), { minLength: 1, maxLength: 128 })
  .map((codes) => String.fromCharCode(...codes));

describe('the tags of an email', () => {
  it('identify the delivery record, for any IDs', () => {
    const ids = fc.constantFrom(newNotificationId(), DEFAULT_NOTIFICATION_ID);
    fc.assert(
      fc.property(tenants, ids, fc.string({ minLength: 1, maxLength: 512 }), (tenant_id, id, event_id) => {
        const event = alarmEvent({ tenant_id, event_id });
        expect(deliveryKeyFromTags(emailTags(event, id))).toEqual(deliveryKey(event, id));
      }),
    );
  });

  it('contain at most 256 letters, digits, _ and -, as SES requires', () => {
    fc.assert(
      fc.property(tenants, (tenant_id) => {
        for (const value of Object.values(emailTags(alarmEvent({ tenant_id }), DEFAULT_NOTIFICATION_ID))) {
          expect(value).toMatch(/^[A-Za-z0-9_-]{1,256}$/);
        }
      }),
    );
  });

  const validTags = emailTags(alarmEvent(), DEFAULT_NOTIFICATION_ID);
  it.each([
    ['all are missing', { notification: undefined, tenant: undefined, event: undefined }],
    ['the notification is missing', { notification: undefined }],
    ['the tenant is missing', { tenant: undefined }],
    ['the event is missing', { event: undefined }],
    ['the notification is not an id', { notification: 'nt#other' }],
    ['the tenant contains a space', { tenant: Buffer.from('a b').toString('base64url') }],
    ['the tenant is too long', { tenant: Buffer.from('a'.repeat(129)).toString('base64url') }],
    ['the event has no hash', { event: '1700000000000-zz' }],
  ])('are invalid if %s', (_, changes) => {
    expect(deliveryKeyFromTags({ ...validTags, ...changes })).toBeUndefined();
  });
});
