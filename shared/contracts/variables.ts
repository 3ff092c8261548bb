import { notificationTypeIds } from './notification-types.ts';
import { limitNames } from './tenant-limits.ts';

/* No zod schemas: every function parses its environment when it starts, and they took 3% of a cold start. */

/** Optional if its value can be undefined. @throws Error */
export type Variable<Value> = (text: string | undefined) => Value;

const invalid = (): never => {
  throw new TypeError('The value of an environment variable is not valid.');
};

export const nonEmptyString: Variable<string> = (text) => text || invalid();

export const optionalString: Variable<string | undefined> = (text) => (text === '' ? invalid() : text);

export const url: Variable<string> = (text) => (text && URL.canParse(text) ? text : invalid());

export const optionalUrl: Variable<string | undefined> = (text) => (text === undefined ? text : url(text));

export const nonNegativeNumber: Variable<number> = (text = '') =>
  /^\d+(\.\d+)?$/.test(text) ? Number(text) : invalid();

export const oneOf =
  <Value extends string>(...values: readonly Value[]): Variable<Value> =>
  (text) =>
    values.find((value) => value === text) ?? invalid();

export const booleanFlag: Variable<boolean> = (text) => oneOf('true', 'false')(text) === 'true';

export const commaSeparated: Variable<string[]> = (text = '') => text.split(',').filter(Boolean);

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

export const stringByType = jsonRecord(
  notificationTypeIds,
  (value): value is string => typeof value === 'string' && value !== '',
);

export const numberByLimit = jsonRecord(limitNames, (value): value is number => typeof value === 'number');
