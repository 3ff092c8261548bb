import { isJsonObject, jsonOrUndefined } from '../contracts/json.ts';
import { type AttemptOutcome, failed } from './attempt-outcome.ts';
import { HOUR_MS } from './time.ts';
import type { Alert } from './transport.ts';

export type HttpResponse = {
  status: number;
  retryAfter: string | undefined;
  body: string;
  /** The request was sent twice, and the receiver may have processed both. */
  wasResent?: true;
};

type Rule = {
  readonly status: RegExp;
  readonly withRetryAfter?: true;
  /** Requires a JSON body with this `result`. */
  readonly resultInBody?: string;
  /** Applies only if an earlier attempt may have arrived. */
  readonly ifMayHaveArrived?: true;
  readonly result: AttemptOutcome['result'];
};

/** What the responses of a type mean (docs/decisions/formats.md#http-outcomes). */
export type HttpResponses = {
  readonly success: string;
  /** What a test that fails says was expected. */
  readonly expected: string;
  /** Statuses that no rule matches are transient. */
  readonly rules: readonly Rule[];
};

const MAX_RETRY_AFTER_MS = HOUR_MS;

/** The three forms of a date (RFC 9110, section 5.6.7), such as `Sun Nov  6 08:49:37 1994`, which is in GMT, too. */
const HTTP_DATE = /^(?:[A-Z][a-z]{2,8}, [\w :-]{18,20} GMT|[A-Z][a-z]{2} [A-Z][a-z]{2} [\d ]\d [\d:]{8} \d{4})$/;

/** RFC 9110, section 10.2.3: at most an hour, undefined if the header is invalid. */
export const parseRetryAfterMs = (header: string | undefined, nowMs: number): number | undefined => {
  if (header === undefined) return undefined;
  const text = header.trim();
  const isSeconds = /^\d+$/.test(text);
  // Date.parse accepts almost any text, such as "-1" or "5, 6", and reads one without a time zone as local time.
  if (!isSeconds && !HTTP_DATE.test(text)) return undefined;
  const delayMs = isSeconds ? Number(text) * 1000 : Date.parse(text.replace(/ GMT$|$/, ' GMT')) - nowMs;
  return Number.isNaN(delayMs) ? undefined : Math.min(Math.max(delayMs, 0), MAX_RETRY_AFTER_MS);
};

const resultIn = (body: string): unknown => {
  const parsed = jsonOrUndefined(body);
  return isJsonObject(parsed) ? parsed.result : undefined;
};

const matches = (rule: Rule, { status, retryAfter, body }: HttpResponse, mayHaveArrived: boolean): boolean =>
  rule.status.test(String(status)) &&
  (!rule.ifMayHaveArrived || mayHaveArrived) &&
  (!rule.withRetryAfter || retryAfter !== undefined) &&
  (rule.resultInBody === undefined || rule.resultInBody === resultIn(body));

/** The explanation contains nothing of the response body. */
export const httpOutcome = (
  { success, expected, rules }: HttpResponses,
  response: HttpResponse,
  nowMs: number,
  { mayHaveArrived = false }: Pick<Alert, 'mayHaveArrived'> = {},
): AttemptOutcome => {
  const { status, wasResent = false } = response;
  const result = rules.find((rule) => matches(rule, response, mayHaveArrived || wasResent))?.result ?? 'transient';
  if (result === 'delivered') return { result, status, explanation: success };
  const explanation = `Unexpected status code "${status}". Expected ${expected}`;
  return failed(result, result === 'throttled' ? 'throttled' : 'http_status', explanation, {
    status,
    wasResent,
    retryAfterMs: parseRetryAfterMs(response.retryAfter, nowMs),
  });
};
