import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_TECHNICAL_CONTACTS, parseAccountChanges } from '../../shared/contracts/account.ts';
import { rejectionDetails } from '../support/rejection.ts';

const detailsOf = (body: unknown) => rejectionDetails(parseAccountChanges(body));

describe('the changes of an account', () => {
  it('are the known fields that are neither absent nor null', () => {
    const body = { technical_contacts: null, webhook_token: '0123456789', id: 'x', __proto__: { a: 1 } };
    expect(parseAccountChanges(body).data).toEqual({ webhook_token: '0123456789' });
    expect(parseAccountChanges({}).data).toEqual({});
  });

  it('have each contact once', () => {
    const technical_contacts = ['b@example.com', 'a@example.com', 'b@example.com'];
    expect(parseAccountChanges({ technical_contacts }).data).toEqual({
      technical_contacts: ['b@example.com', 'a@example.com'],
    });
  });

  it('are rejected without an error for each of a million contacts', () => {
    const details = detailsOf({ technical_contacts: Array.from({ length: 1_000_000 }, () => 0) });
    expect(details).toBe(`technical_contacts: must be a list of 0 to ${MAX_TECHNICAL_CONTACTS} email addresses`);
    expect(detailsOf({ technical_contacts: 'x'.repeat(MAX_TECHNICAL_CONTACTS + 1) })).toBe(details);
  });

  it('accept exactly the tokens of 10 to 64 printable ASCII characters, and never repeat a rejected one', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 80 }), (webhook_token) => {
        const isValid =
          /^[\x21-\x7e]*$/.test(webhook_token) && webhook_token.length >= 10 && webhook_token.length <= 64;
        expect(detailsOf({ webhook_token })).toBe(
          isValid ? undefined : 'webhook_token: must be 10 to 64 printable ASCII characters without spaces',
        );
      }),
      { examples: [['0123456789'], ['x'.repeat(64)], ['x'.repeat(65)], ['0123456789\n']] },
    );
  });

  it.each(['invalid', 'a@localhost', `a@${'x.'.repeat(125)}org`, null, 'a@example.com\r\nBcc: b@example.com'])(
    'are rejected with the position of an invalid contact: %j',
    (invalid) => {
      expect(detailsOf({ technical_contacts: ['a@example.com', invalid] })).toBe(
        'technical_contacts.1: must be an email address of at most 254 characters',
      );
    },
  );

  it('accept 0 to 50 contacts', () => {
    const contacts = Array.from({ length: 51 }, (_, index) => `c${index}@example.com`);
    for (const technical_contacts of [[], contacts.slice(1)])
      expect(parseAccountChanges({ technical_contacts }).data).toEqual({ technical_contacts });
    expect(detailsOf({ technical_contacts: contacts })).toMatch(/^technical_contacts: must be a list of 0 to 50/);
  });

  it('accept up to three fallback notifications, each once, whether or not they exist', () => {
    const ids = ['nt01M7W08F9Z4XGJJRVYEZQFE9R1', 'ntTechnicalContactsEmail', 'unknown'];
    expect(parseAccountChanges({ escalation_notifications: ids }).data).toEqual({ escalation_notifications: ids });
    expect(parseAccountChanges({ escalation_notifications: ['a', 'b', 'a'] }).data).toEqual({
      escalation_notifications: ['a', 'b'],
    });
    expect(parseAccountChanges({ escalation_notifications: [] }).data).toEqual({ escalation_notifications: [] });
    expect(detailsOf({ escalation_notifications: [...ids, 'd'] })).toBe(
      'escalation_notifications: must be a list of 0 to 3 notification IDs',
    );
  });

  it.each(['UTC', 'Europe/Berlin', 'America/Argentina/ComodRivadavia', 'Asia/Kolkata', 'Etc/GMT+5', 'EST5EDT'])(
    'accept the time zone %s',
    (time_zone) => {
      expect(parseAccountChanges({ time_zone }).data).toEqual({ time_zone });
    },
  );

  it.each(['', 'CEST+2', '+01:00', 'Europe/Atlantis', ' UTC', 'UTC\n', 'a'.repeat(1_000_000), 1, {}])(
    'reject the time zone %j',
    (time_zone) => {
      expect(detailsOf({ time_zone })).toBe('time_zone: must be the name of an IANA time zone, such as Europe/Berlin');
    },
  );

  it('complete the settings of summaries with defaults, and {} removes them', () => {
    expect(parseAccountChanges({ summaries: { sms_after: 100 } }).data).toEqual({
      summaries: { email_after: 10, sms_after: 100, window_minutes: 5 },
    });
    expect(parseAccountChanges({ summaries: {} }).data).toEqual({ summaries: null });
  });

  it.each([
    [{ email_after: 1_001 }, 'summaries.email_after: must be an integer from 1 to 1000'],
    [{ sms_after: 0 }, 'summaries.sms_after: must be an integer from 1 to 100'],
    [{ window_minutes: 1.5 }, 'summaries.window_minutes: must be an integer from 1 to 60'],
    [{ window_minutes: null }, 'summaries.window_minutes: must be an integer from 1 to 60'],
    [{ email_aftr: 5 }, 'summaries: email_aftr: is an unknown attribute (did you mean email_after?)'],
    [[], 'summaries: must be an object with any of email_after, sms_after, window_minutes'],
    [true, 'summaries: must be an object with any of email_after, sms_after, window_minutes'],
  ])('reject the settings of summaries %j', (summaries, message) => {
    expect(detailsOf({ summaries })).toBe(message);
  });

  it.each(['', '\0', '\ud800', 'x'.repeat(65), 7, null, ['a'], {}])('reject the fallback notification %j', (id) => {
    expect(detailsOf({ escalation_notifications: ['a', id] })).toMatch(/^escalation_notifications\.1: must /);
  });

  it.each([undefined, null, 7, 'text', [], true])('are rejected if they are not an object: %j', (body) => {
    expect(detailsOf(body)).toBe('body: must be a JSON object');
  });
});
