import * as z from 'zod/mini';
import { isJsonObject, parseJson } from './json.ts';
import type { StringMap } from './text.ts';

/** Of a `webhook` notification (docs/api.md#webhook-requests). */
export type WebhookRequest = {
  headers?: StringMap | undefined;
  /** Any JSON value, also null, whose texts may contain placeholders (`parseBodyTemplate`). */
  body?: unknown;
};

/** What responses contain instead of the value of a header. In a request it stands for the stored value. */
export const MASKED_VALUE = '***';

/** As responses contain it: header values are secrets. */
export const maskedRequest = (request: WebhookRequest): WebhookRequest => ({
  ...request,
  ...(request.headers && {
    headers: Object.fromEntries(Object.keys(request.headers).map((name) => [name, MASKED_VALUE])),
  }),
});

/** Created at each call, because few cold starts need it. */
const storedRequest = () =>
  z.object({ headers: z.optional(z.custom<StringMap>(isJsonObject)), body: z.optional(z.unknown()) });

/** JSON text keeps the digits of numbers. */
export const serializeRequest = (request: WebhookRequest | undefined): string | undefined =>
  request && JSON.stringify(request);

/** @throws SyntaxError or ZodError */
export const parseStoredRequest = (text: string): WebhookRequest => storedRequest().parse(parseJson(text));

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
