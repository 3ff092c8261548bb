import type { AuditRange } from '../adapters/audits/audit-reader.ts';
import { isTimeMs, MAX_TIME_MS, TIME_RULE } from '../contracts/redelivery.ts';
import { badRequest } from '../domain/errors.ts';

/**
 * Returns the times, in ms since the epoch, that a query string has for these parameters.
 *
 * @throws ServiceError 400 with all invalid parameters
 */
export const timeParameters = <Name extends string>(
  query: URLSearchParams,
  names: readonly Name[],
): { readonly [Parameter in Name]?: number } => {
  const given = names.flatMap((name) => query.getAll(name).map((text) => ({ name, text })));
  const invalid = given.filter(({ text }) => !/^\d{1,13}$/.test(text) || !isTimeMs(Number(text)));
  if (invalid.length > 0) throw badRequest(invalid.map(({ name }) => `${name}: ${TIME_RULE}`).join('; '));
  const times: { [Parameter in Name]?: number } = {};
  // Of a repeated parameter, the first one counts.
  for (const { name, text } of given) times[name] ??= Number(text);
  return times;
};

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
