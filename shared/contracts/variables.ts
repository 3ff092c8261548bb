import { type NotificationTypeId, notificationTypeIds } from './notification-types.ts';

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

const isStringByType = (value: unknown): value is Record<NotificationTypeId, string> => {
  if (typeof value !== 'object' || value === null) return false;
  const values = new Map<string, unknown>(Object.entries(value));
  return values.size === notificationTypeIds.length && notificationTypeIds.every((id) => isNonEmpty(values.get(id)));
};

const parsedByType = (text: string | undefined): Record<NotificationTypeId, string> | undefined => {
  try {
    const value: unknown = JSON.parse(text ?? '');
    return isStringByType(value) ? value : undefined;
  } catch {
    return undefined;
  }
};

/** A JSON object with a non-empty string for every notification type. */
export const stringByType: Variable<Record<NotificationTypeId, string>, string> = {
  accepts: (text): text is string => parsedByType(text) !== undefined,
  parse: (text) => {
    const value = parsedByType(text);
    if (!value) throw new TypeError('The value of an environment variable is not valid.');
    return value;
  },
};
