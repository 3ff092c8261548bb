import type { NotificationTypeId } from '../contracts/notification-types.ts';
import { type AttemptOutcome, failed } from './attempt-outcome.ts';

/** What decides the outcome of an HTTP delivery. */
export type HttpResponse = { status: number; retryAfter: string | undefined; body: string };

/** One row of a type's rules: the first that fits decides. */
type Rule = {
  readonly status: RegExp;
  /** Only with this header. */
  readonly withRetryAfter?: true;
  /** Only where the answer's body is JSON with this `result`. */
  readonly resultInBody?: string;
  readonly result: AttemptOutcome['result'];
};

/** The rules of each type that speaks HTTP (wire-formats); a status that no row names is transient. */
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
    { status: /^(2..|409)$/, result: 'delivered' },
    { status: /^429$/, result: 'throttled' },
    { status: /^4..$/, result: 'permanent' },
  ],
} as const satisfies Partial<Record<NotificationTypeId, readonly Rule[]>>;

/** A type that is delivered by HTTP. */
export type HttpType = keyof typeof httpRules;

const success: Record<HttpType, string> = {
  webhook: 'Success: Webhook successfully executed',
  incidentpager: 'Success: Incident pager took the event',
  incidentrouter: 'Success: Incident router took the event',
  atomfeed: 'Success: Atom feed took the entry',
};

/** The longest that a destination can make us wait, in ms. */
const MAX_RETRY_AFTER = 3_600_000;

/** Reads `Retry-After` (RFC 9110, section 10.2.3), seconds or a date, as ms from now, at most an hour; undefined for anything else. */
export const retryAfterMs = (header: string | undefined, now: number): number | undefined => {
  if (header === undefined) return undefined;
  const text = header.trim();
  // Date.parse makes a date of nearly anything: "-1", "5, 6".
  if (!/^(\d+|[A-Z][a-z]{2,8}, .* GMT)$/.test(text)) return undefined;
  const wait = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now;
  return Number.isNaN(wait) ? undefined : Math.min(Math.max(wait, 0), MAX_RETRY_AFTER);
};

const resultIn = (body: string): unknown => {
  try {
    const answer: unknown = JSON.parse(body);
    return typeof answer === 'object' && answer !== null && 'result' in answer ? answer.result : undefined;
  } catch {
    return undefined;
  }
};

const fits = (rule: Rule, { status, retryAfter, body }: HttpResponse): boolean =>
  rule.status.test(String(status)) &&
  (!rule.withRetryAfter || retryAfter !== undefined) &&
  (rule.resultInBody === undefined || rule.resultInBody === resultIn(body));

/** Says what was wrong in our own words: the answer's bytes are for nobody to see. */
const explain = (type: HttpType, status: number): string =>
  type === 'incidentrouter' && status === 200
    ? 'The incident router answered 200, but its result is not "success"'
    : `Unexpected status code "${status}". Expected one of: /2[0-9]{2}/`;

/** The outcome of an answer, by the rules of the type. */
export const httpOutcome = (type: HttpType, answer: HttpResponse, now: number): AttemptOutcome => {
  const { status } = answer;
  const rules: readonly Rule[] = httpRules[type];
  const result = rules.find((rule) => fits(rule, answer))?.result ?? 'transient';
  if (result === 'delivered') return { result, status, explanation: success[type] };
  return failed(result, result === 'throttled' ? 'throttled' : 'http_status', explain(type, status), {
    status,
    retryAfterMs: retryAfterMs(answer.retryAfter, now),
  });
};
