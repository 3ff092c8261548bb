import * as z from 'zod';
import { MAX_CONCURRENT_TESTS } from '../../../shared/adapters/accounts/test-counter.ts';
import { emailAddress } from '../../../shared/contracts/notification-types.ts';
import { contactVerificationBody, verificationBody } from '../../../shared/contracts/verification.ts';
import {
  codeLimitReached,
  codeRejected,
  noRecipient,
  noValidCode,
  testLimitReached,
  tooManyTests,
  unconfirmedChange,
  unknownContact,
  verificationOff,
  wrongCode,
} from '../../../shared/domain/errors.ts';
import { MAX_CODES_PER_DAY } from '../../../shared/domain/recipient.ts';
import { EXAMPLE_TIME_MS, type Operation, rejectedBody } from '../operation.ts';
import { component } from '../schemas.ts';
import { verified } from '../typed-schemas.ts';

const fields = {
  code: z
    .string()
    .regex(/^\d{6}$/)
    .optional()
    .describe('The newest code that the recipient has got: six digits, with ten tries within 24 hours'),
  resend: z.literal(true).optional().describe('Instead of `code`: sends a new code, which replaces the previous one'),
};

const verification = component('Verification', 'Either the code of a recipient, or the wish for a new one', fields);
const contactVerification = component(
  'ContactVerification',
  'Either the code of a contact, or the wish for a new one',
  {
    address: emailAddress().check(z.describe('One of the `technical_contacts`')),
    ...fields,
  },
);

const result = component('VerificationResult', 'Whether the recipient is verified', { verified });

const errors = [
  wrongCode(9),
  noValidCode(),
  codeRejected('Texts to this country are not allowed'),
  verificationOff(),
  codeLimitReached(MAX_CODES_PER_DAY, EXAMPLE_TIME_MS),
  testLimitReached(200, EXAMPLE_TIME_MS),
  tooManyTests(MAX_CONCURRENT_TESTS),
  unconfirmedChange(),
];

const response = {
  schema: result,
  examples: { 'The code is right': { verified: true }, 'A new code was sent': { verified: false } },
};

const ONCE = 'A recipient is verified once for the account. A verified one stays so, whatever the code.';

/** Verifies the recipient of a notification. */
export const verifyNotification = {
  summary: 'Verify the recipient of a notification',
  details: `Only if the operators require verification. ${ONCE}`,
  request: {
    schema: verification,
    examples: { 'Enters a code': { code: '123456' }, 'Requests one': { resend: true } },
  },
  response,
  errors: [rejectedBody(verificationBody.parse({ code: '12' })), noRecipient(), ...errors],
} satisfies Operation;

/** Verifies a technical contact. */
export const verifyAccount = {
  summary: 'Verify a technical contact',
  details: `Only if the operators require verification. ${ONCE}`,
  request: {
    schema: contactVerification,
    examples: {
      'Enters a code': { address: 'oncall@example.com', code: '123456' },
      'Requests one': { address: 'oncall@example.com', resend: true },
    },
  },
  response,
  errors: [rejectedBody(contactVerificationBody.parse({ code: '12' })), unknownContact(), ...errors],
} satisfies Operation;
