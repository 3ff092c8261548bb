import { expect, it } from 'vitest';
import { failed } from '../../../shared/domain/attempt-outcome.ts';
import { recipientHash } from '../../../shared/domain/delivery-key.ts';
import type { DailyLimit } from '../../../shared/pipeline/daily-limit.ts';
import { createTechnicalContactsTransport } from '../../../shared/pipeline/transports/email.ts';
import { alert } from '../../support/alert.ts';
import { optOutKeys } from '../../support/opt-outs.ts';

const environment = {
  EMAIL_FROM: 'a@example.com',
  EMAIL_REPLY_TO: undefined,
  CONFIGURATION_SET: 'set',
  API_URL: 'https://api.example.org',
};

const [ONE, OTHER] = ['one@example.com', 'other@example.com'];

/** Attempts an alert to two contacts, of whom some have opted out. @returns the outcome and the number of emails */
const attempt = async (optedOut: readonly string[], reachedRecipientHashes: string[] = []) => {
  let sentCount = 0;
  const send: DailyLimit = async () => {
    sentCount++;
    return { result: 'delivered', explanation: '' };
  };
  const transport = createTechnicalContactsTransport(
    environment,
    { alerts: send, notices: send, summaries: send },
    { timeZone: async () => 'UTC', technicalContacts: async () => [ONE, OTHER] },
    optOutKeys,
    { remaining: async (_, addresses) => addresses.filter((address) => !optedOut.includes(address)) },
  );
  return { outcome: await transport({ ...alert, reachedRecipientHashes }, {}), sentCount };
};

const hashOf = (contact: string): string => recipientHash(alert.deliveryId, contact);

it('an alert to contacts skips those who have opted out', async () => {
  const { outcome, sentCount } = await attempt([ONE]);
  expect(outcome).toMatchObject({ result: 'delivered', reachedRecipientHashes: [hashOf(OTHER)] });
  expect(sentCount).toBe(1);
});

it('an alert to contacts who have all opted out fails with the reason', async () => {
  const { outcome, sentCount } = await attempt([ONE, OTHER]);
  expect(outcome).toEqual(
    failed('permanent', 'opted_out', 'Not sent: the recipient has opted out of the emails of the account'),
  );
  expect(sentCount).toBe(0);
});

it('an alert that has reached a contact is delivered, although all others have opted out since', async () => {
  const { outcome } = await attempt([ONE, OTHER], [hashOf(ONE)]);
  expect(outcome).toMatchObject({ result: 'delivered', reachedRecipientHashes: [hashOf(ONE)] });
});
