import type { NotificationTypeId } from '../contracts/notification-types.ts';
import { type AttemptOutcome, failed } from './attempt-outcome.ts';
import type { Alert } from './transport.ts';

/** The parts of an HTTP response that determine the outcome. */
export type HttpResponse = { status: number; retryAfter: string | undefined; body: string };

/** A rule of a type; the first matching rule applies. */
type Rule = {
  readonly status: RegExp;
  /** Requires a `Retry-After` header. */
  readonly withRetryAfter?: true;
  /** Requires a JSON body with this `result`. */
  readonly resultInBody?: string;
  /** Applies only if an earlier attempt may have arrived. */
  readonly ifMayHaveArrived?: true;
  readonly result: AttemptOutcome['result'];
};

/** The rules of each HTTP type (docs/decisions/formats.md#http-outcomes). Unmatched statuses are transient. */
export const httpRules = {
  webhook: [
    { status: /^2..$/, result: 'delivered' },
    { status: /^410$/, result: 'permanent' },
    { status: /^(429|503)$/, withRetryAfter: true, result: 'throttled' },
  ],
  incidentpager: [
    { status: /^200$/, result: 'delivered' },
    { status: /^(400|404)$/, result: 'permanent' },
    { status: /^(403|429)$/, result: 'throttled' },
  ],
  incidentrouter: [
    { status: /^200$/, resultInBody: 'success', result: 'delivered' },
    { status: /^200$/, resultInBody: 'failure', result: 'permanent' },
    { status: /^(400|401|403|404)$/, result: 'permanent' },
    { status: /^429$/, result: 'throttled' },
  ],
  atomfeed: [
    { status: /^2..$/, result: 'delivered' },
    // The feed has an entry with the ID of this delivery.
    { status: /^409$/, ifMayHaveArrived: true, result: 'delivered' },
    { status: /^429$/, result: 'throttled' },
    { status: /^4..$/, result: 'permanent' },
  ],
} as const satisfies Partial<Record<NotificationTypeId, readonly Rule[]>>;

/** A notification type delivered over HTTP. */
export type HttpType = keyof typeof httpRules;

const successMessages: Record<HttpType, string> = {
  webhook: 'Success: Webhook successfully executed',
  incidentpager: 'Success: Incident pager took the event',
  incidentrouter: 'Success: Incident router took the event',
  atomfeed: 'Success: Atom feed took the entry',
};

/** Maximum delay that a destination can request. */
const MAX_RETRY_AFTER_MS = 3_600_000;

/**
 * Returns the delay of a `Retry-After` header (RFC 9110, section 10.2.3) in ms, at most an hour, or undefined if it is
 * invalid.
 */
export const parseRetryAfterMs = (header: string | undefined, nowMs: number): number | undefined => {
  if (header === undefined) return undefined;
  const text = header.trim();
  // Date.parse accepts almost any text, such as "-1" or "5, 6".
  if (!/^(\d+|[A-Z][a-z]{2,8}, .* GMT)$/.test(text)) return undefined;
  const delayMs = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - nowMs;
  return Number.isNaN(delayMs) ? undefined : Math.min(Math.max(delayMs, 0), MAX_RETRY_AFTER_MS);
};

const resultIn = (body: string): unknown => {
  try {
    const parsed: unknown = JSON.parse(body);
    return typeof parsed === 'object' && parsed !== null && 'result' in parsed ? parsed.result : undefined;
  } catch {
    return undefined;
  }
};

const matches = (rule: Rule, { status, retryAfter, body }: HttpResponse, mayHaveArrived: boolean): boolean =>
  rule.status.test(String(status)) &&
  (!rule.ifMayHaveArrived || mayHaveArrived) &&
  (!rule.withRetryAfter || retryAfter !== undefined) &&
  (rule.resultInBody === undefined || rule.resultInBody === resultIn(body));

/** Returns the message for a test result. It contains nothing of the response body. */
const explanationOf = (type: HttpType, status: number): string =>
  type === 'incidentrouter' && status === 200
    ? 'The incident router answered 200, but its result is not "success"'
    : `Unexpected status code "${status}". Expected one of: /2[0-9]{2}/`;

/**
 * Returns the outcome of a response by the rules of the type.
 *
 * @param alert.mayHaveArrived true if an earlier attempt may have arrived
 */
export const httpOutcome = (
  type: HttpType,
  response: HttpResponse,
  nowMs: number,
  { mayHaveArrived = false }: Pick<Alert, 'mayHaveArrived'> = {},
): AttemptOutcome => {
  const { status } = response;
  const rules: readonly Rule[] = httpRules[type];
  const result = rules.find((rule) => matches(rule, response, mayHaveArrived))?.result ?? 'transient';
  if (result === 'delivered') return { result, status, explanation: successMessages[type] };
  return failed(result, result === 'throttled' ? 'throttled' : 'http_status', explanationOf(type, status), {
    status,
    retryAfterMs: parseRetryAfterMs(response.retryAfter, nowMs),
  });
};
