import * as z from 'zod/mini';
import { MAX_EMAIL_ADDRESS_LENGTH } from './notification-types.ts';
import { boundedText, withoutNulls } from './text.ts';

const CODE_RULE = 'must be the six digits of a code';

const code = boundedText({ max: 6, rule: CODE_RULE }, z.regex(/^\d{6}$/, CODE_RULE));

const ADDRESS_RULE = 'must be one of the technical_contacts';

const fields = {
  code: z.optional(code),
  resend: z.optional(z.literal(true, 'must be true, to have a new code sent')),
};

const hasOne = z.refine<{ code?: string | undefined; resend?: true | undefined }>(
  ({ code, resend }) => (code === undefined) !== (resend === undefined),
  'must have either code or resend',
);

const INVALID_BODY = 'must be a JSON object';

const verification = z.object(fields, INVALID_BODY).check(hasOne);

const contactVerification = z
  .object(
    {
      address: boundedText({
        max: MAX_EMAIL_ADDRESS_LENGTH,
        rule: ADDRESS_RULE,
        type: { error: ({ input }) => (input === undefined ? 'is required' : ADDRESS_RULE) },
      }),
      ...fields,
    },
    INVALID_BODY,
  )
  .check(hasOne);

/** A code to check, or the wish for a new one. */
export type Verification = z.infer<typeof verification>;

/** The body of the verification of a notification's recipient. */
export const verificationBody = {
  parse: (body: unknown) => verification.safeParse(withoutNulls(body)),
  attributes: Object.keys(fields),
};

/** The body of the verification of a technical contact. */
export const contactVerificationBody = {
  parse: (body: unknown) => contactVerification.safeParse(withoutNulls(body)),
  attributes: ['address', ...Object.keys(fields)],
};
