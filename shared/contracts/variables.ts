import { notificationTypeIds } from './notification-types.ts';
import { limitNames } from './tenant-limits.ts';

/*
 * The values of environment variables. They are not zod schemas, because every function parses its environment when it
 * starts: building and using the schemas took 3% of a cold start.
 */

/** Parses an environment variable. It is optional if its value can be undefined. @throws Error if the text is not valid */
export type Variable<Value> = (text: string | undefined) => Value;

const invalid = (): never => {
  throw new TypeError('The value of an environment variable is not valid.');
};

/** A text. */
export const nonEmptyString: Variable<string> = (text) => text || invalid();

/** A text that may be absent. */
export const optionalString: Variable<string | undefined> = (text) => (text === '' ? invalid() : text);

/** An absolute URL. */
export const url: Variable<string> = (text) => (text && URL.canParse(text) ? text : invalid());

/** An absolute URL that may be absent. */
export const optionalUrl: Variable<string | undefined> = (text) => (text === undefined ? text : url(text));

/** A number without sign and exponent. */
export const nonNegativeNumber: Variable<number> = (text = '') =>
  /^\d+(\.\d+)?$/.test(text) ? Number(text) : invalid();

/** One of a few values. */
export const oneOf =
  <Value extends string>(...values: readonly Value[]): Variable<Value> =>
  (text) =>
    values.find((value) => value === text) ?? invalid();

/** `true` or `false`. */
export const booleanFlag: Variable<boolean> = (text) => oneOf('true', 'false')(text) === 'true';

/** A comma-separated list; empty by default. */
export const commaSeparated: Variable<string[]> = (text = '') => text.split(',').filter(Boolean);

/** A JSON object with exactly these keys, and a value that `isValue` accepts for each of them. */
const jsonRecord = <Key extends string, Value>(
  keys: readonly Key[],
  isValue: (value: unknown) => value is Value,
): Variable<Record<Key, Value>> => {
  const isRecord = (value: unknown): value is Record<Key, Value> => {
    if (typeof value !== 'object' || value === null) return false;
    const values = new Map<string, unknown>(Object.entries(value));
    return values.size === keys.length && keys.every((key) => isValue(values.get(key)));
  };
  return (text = '') => {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : invalid();
  };
};

/** A JSON object with a non-empty string for every notification type. */
export const stringByType = jsonRecord(
  notificationTypeIds,
  (value): value is string => typeof value === 'string' && value !== '',
);

/** A JSON object with a number for every limit of a tenant. */
export const numberByLimit = jsonRecord(limitNames, (value): value is number => typeof value === 'number');
