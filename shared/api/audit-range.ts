import type { AuditRange } from '../adapters/audits/audit-reader.ts';
import { MAX_TIME_MS } from '../contracts/redelivery.ts';
import { timeParameters } from './time-parameters.ts';

/**
 * Returns the audit entries that a query string requests: `from` and `to` in ms since the epoch, and `reverse`, which is
 * `true` in any case.
 *
 * @throws ServiceError 400 with all invalid parameters
 */
export const parseAuditRange = (query: URLSearchParams): AuditRange => {
  const { from = 0, to = MAX_TIME_MS } = timeParameters(query, ['from', 'to']);
  return { fromMs: from, toMs: to, isReverse: query.get('reverse')?.toLowerCase() === 'true' };
};
