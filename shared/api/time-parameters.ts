import { MAX_TIME_MS, MIN_TIME_MS } from '../contracts/redelivery.ts';
import { badRequest } from '../domain/errors.ts';

const RULE = `must be 0 or a whole number from ${MIN_TIME_MS} to ${MAX_TIME_MS}: milliseconds since the epoch`;

/** Smaller numbers, such as seconds, are no times in ms of this century. */
const isTime = (text: string): boolean =>
  /^\d{1,13}$/.test(text) && (Number(text) === 0 || Number(text) >= MIN_TIME_MS);

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
  const invalid = given.filter(({ text }) => !isTime(text));
  if (invalid.length > 0) throw badRequest(invalid.map(({ name }) => `${name}: ${RULE}`).join('; '));
  const times: { [Parameter in Name]?: number } = {};
  // Of a repeated parameter, the first one counts.
  for (const { name, text } of given) times[name] ??= Number(text);
  return times;
};
