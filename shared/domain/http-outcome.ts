import { type Failure, failed, type Outcome } from './outcome.ts';

/** What decides the outcome of an HTTP delivery. */
export type HttpAnswer = { status: number; retryAfter: string | undefined };

/** One row of a type's rules: the first that fits decides. */
type Rule = { readonly status: RegExp; readonly withRetryAfter?: true; readonly result: Outcome['result'] };

/** The rules of each type that speaks HTTP (wire-formats); a status that no row names is transient. */
const httpRules = {
  webhook: [
    { status: /^2..$/, result: 'delivered' },
    { status: /^410$/, result: 'permanent' },
    { status: /^(429|503)$/, withRetryAfter: true, result: 'throttled' },
  ],
} as const satisfies Record<string, readonly Rule[]>;

/** The longest that a destination can make us wait, in ms. */
const MAX_RETRY_AFTER = 3_600_000;

/** Reads `Retry-After` (RFC 9110, section 10.2.3), seconds or a date, as ms from now, at most an hour; undefined for anything else. */
export const retryAfterMs = (header: string | undefined, now: number): number | undefined => {
  if (header === undefined) return undefined;
  const wait = /^\s*\d+\s*$/.test(header) ? Number(header) * 1000 : Date.parse(header) - now;
  return Number.isNaN(wait) ? undefined : Math.min(Math.max(wait, 0), MAX_RETRY_AFTER);
};

/** The outcome of an answer, by the rules of the type. */
export const httpOutcome = (type: keyof typeof httpRules, { status, retryAfter }: HttpAnswer, now: number): Outcome => {
  const rules: readonly Rule[] = httpRules[type];
  const result =
    rules.find((rule) => rule.status.test(String(status)) && (!rule.withRetryAfter || retryAfter !== undefined))
      ?.result ?? 'transient';
  if (result === 'delivered') return { result, status, explanation: 'Success: Webhook successfully executed' };
  const explanation = `Unexpected status code "${status}". Expected one of: /2[0-9]{2}/`;
  const failure: Failure = failed(result, result === 'throttled' ? 'throttled' : 'status', explanation, { status });
  return { ...failure, retryAfter: retryAfterMs(retryAfter, now) };
};
