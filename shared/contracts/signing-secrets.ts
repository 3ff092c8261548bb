import * as z from 'zod/mini';

/** The own signing secrets of a webhook (docs/api.md#own-signing-secrets). Times are ms since the epoch. */
export const signingSecrets = z.object({
  /** Absent after it was deleted. */
  current: z.optional(z.string()),
  /** Replaced or deleted secrets, the newest first. Each signs until `until_ms`. */
  retired: z._default(z.array(z.object({ secret: z.string(), until_ms: z.number() })), []),
  /** Until when the account signs, too, and its token is sent. */
  account_until_ms: z.optional(z.number()),
});
export type SigningSecrets = z.infer<typeof signingSecrets>;
