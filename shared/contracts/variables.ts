import { notificationTypeIds } from './notification-types.ts';
import { limitNames } from './tenant-limits.ts';

/*
 * The values of environment variables. They are not zod schemas, because every function parses its environment when it
 * starts: building and using the schemas took 3% of a cold start.
 */

/** An environment variable. `Input` are the valid texts; undefined is among them if the variable is optional. */
export type Variable<Value, Input extends string | undefined = string | undefined> = {
  accepts: (text: string | undefined) => text is Input;
  /** @throws TypeError if the text is not valid */
  parse: (text: string | undefined) => Value;
};

const variable = <Value, Input extends string | undefined>(
  accepts: (text: string | undefined) => text is Input,
  parse: (text: Input) => Value,
): Variable<Value, Input> => ({
  accepts,
  parse: (text) => {
    if (!accepts(text)) throw new TypeError('The value of an environment variable is not valid.');
    return parse(text);
  },
});

const isNonEmpty = (value: unknown): value is string => typeof value === 'string' && value !== '';

/** A text. */
export const nonEmptyString = variable(isNonEmpty, (text) => text);

/** A text that may be absent. */
export const optionalString = variable(
  (text): text is string | undefined => text !== '',
  (text) => text,
);

const isUrl = (text: string | undefined): text is string => text !== undefined && URL.canParse(text);

/** An absolute URL. */
export const url = variable(isUrl, (text) => text);

/** An absolute URL that may be absent. */
export const optionalUrl = variable(
  (text): text is string | undefined => text === undefined || isUrl(text),
  (text) => text,
);

/** A number without sign and exponent. */
export const nonNegativeNumber = variable((text): text is string => /^\d+(\.\d+)?$/.test(text ?? ''), Number);

/** One of a few values. */
export const oneOf = <Value extends string>(...values: readonly Value[]): Variable<Value, Value> =>
  variable(
    (text): text is Value => values.some((value) => value === text),
    (value) => value,
  );

/** `true` or `false`. */
export const booleanFlag = variable(oneOf('true', 'false').accepts, (text) => text === 'true');

/** A comma-separated list; empty by default. */
export const commaSeparated = variable(
  (_text): _text is string | undefined => true,
  (text) => text?.split(',').filter(Boolean) ?? [],
);

/** A JSON object with exactly these keys, and a value that `isValue` accepts for each of them. */
const jsonRecord = <Key extends string, Value>(
  keys: readonly Key[],
  isValue: (value: unknown) => value is Value,
): Variable<Record<Key, Value>, string> => {
  const isRecord = (value: unknown): value is Record<Key, Value> => {
    if (typeof value !== 'object' || value === null) return false;
    const values = new Map<string, unknown>(Object.entries(value));
    return values.size === keys.length && keys.every((key) => isValue(values.get(key)));
  };
  const parsed = (text: string | undefined): Record<Key, Value> | undefined => {
    try {
      const value: unknown = JSON.parse(text ?? '');
      return isRecord(value) ? value : undefined;
    } catch {
      return undefined;
    }
  };
  return {
    accepts: (text): text is string => parsed(text) !== undefined,
    parse: (text) => {
      const value = parsed(text);
      if (!value) throw new TypeError('The value of an environment variable is not valid.');
      return value;
    },
  };
};

/** A JSON object with a non-empty string for every notification type. */
export const stringByType = jsonRecord(notificationTypeIds, isNonEmpty);

/** A JSON object with a number for every limit of a tenant. */
export const numberByLimit = jsonRecord(limitNames, (value): value is number => typeof value === 'number');
