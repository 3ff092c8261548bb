import type { AuditRange } from '../adapters/audits/audit-reader.ts';
import { MAX_TIME_MS } from '../contracts/redelivery.ts';
import { badRequest } from '../domain/errors.ts';

/** Smaller numbers, such as seconds, are no times in ms of this century. */
const MIN_TIME_MS = 10 ** 12;

const isTime = (text: string): boolean =>
  /^\d{1,13}$/.test(text) && (Number(text) === 0 || Number(text) >= MIN_TIME_MS);

/**
 * Returns the audit entries that a query string requests: `from` and `to` in ms since the epoch, and `reverse`, which is
 * `true` in any case.
 *
 * @throws ServiceError 400 with all invalid parameters
 */
export const parseAuditRange = (query: URLSearchParams): AuditRange => {
  const [from, to] = [query.get('from') ?? '0', query.get('to') ?? String(MAX_TIME_MS)];
  const invalid = Object.entries({ from, to }).filter(([, text]) => !isTime(text));
  if (invalid.length > 0) {
    const rule = `must be 0 or a whole number from ${MIN_TIME_MS} to ${MAX_TIME_MS}: milliseconds since the epoch`;
    throw badRequest(invalid.map(([name]) => `${name}: ${rule}`).join('; '));
  }
  return { fromMs: Number(from), toMs: Number(to), isReverse: query.get('reverse')?.toLowerCase() === 'true' };
};
