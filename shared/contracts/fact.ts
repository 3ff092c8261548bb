import * as z from 'zod/mini';

/** A name and its value: a text, or a time in ms since the epoch, which an email shows in the account's time zone. */
export const fact = z.tuple([z.string(), z.union([z.string(), z.int()])]);

/** A name and its value. */
export type Fact = z.infer<typeof fact>;
