import * as z from 'zod/mini';

/** The signing secrets of a webhook notification of its own, `whsec_…` (docs/api.md#own-signing-secrets). */
export const signingSecrets = z.object({
  /** Absent after it was deleted. */
  current: z.optional(z.string()),
  /** The replaced or deleted secrets, the newest first. Each also signs until `until_ms`, ms since the epoch. */
  retired: z._default(z.array(z.object({ secret: z.string(), until_ms: z.number() })), []),
  /** Until when requests also have the token and the signatures of the account, ms since the epoch. */
  account_until_ms: z.optional(z.number()),
});
export type SigningSecrets = z.infer<typeof signingSecrets>;
