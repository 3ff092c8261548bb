import * as z from 'zod/mini';

/** Length in Unicode code points, as every limit of the interface counts (`😀` is one). */
const codePoints = (text: string): number => {
  let count = 0;
  for (const _ of text) count++;
  return count;
};

/** Why a string cannot be kept as text, or undefined: NUL ends a string in many receivers, a lone surrogate has no UTF-8. */
const unstorable = (text: string): string | undefined => {
  if (text.includes('\0')) return 'must not contain the NUL character';
  if (!text.isWellFormed()) return 'must be well-formed Unicode, without lone surrogates';
  return undefined;
};

/** The rule that a text breaks, in words that follow a field's name; undefined where it breaks none. */
export const textFault = (value: unknown, min: number, max: number): string | undefined => {
  if (typeof value !== 'string') return 'must be a string';
  // Code points are at most as many as UTF-16 units, so only a text near the limit is walked.
  const length = value.length > 2 * max ? value.length : codePoints(value);
  if (length < min || length > max) return `must be ${min} to ${max} characters long`;
  return unstorable(value);
};

/** A string of `min` to `max` Unicode code points. */
export const text = (min: number, max: number) =>
  z.custom<string>((value) => textFault(value, min, max) === undefined, {
    error: (issue) => (issue.input === undefined ? 'is required' : textFault(issue.input, min, max)),
  });

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Maximum number of entries in `details` or `metadata` (API.md#limits). */
export const MAX_ENTRIES = 256;

/** Maximum length of a key in `details` or `metadata`, in code points. */
export const MAX_KEY_LENGTH = 255;

/** Field names come from the client: shown shortened, so that an error stays smaller than what caused it. */
const shown = (key: string): string => (key.length > 64 ? `${key.slice(0, 64).toWellFormed()}…` : key.toWellFormed());

/** Looks into a map whose values may still be anything, and reports what is wrong with its fields. */
type CheckFields = (map: Readonly<Record<string, unknown>>, report: (field: string, message: string) => void) => void;

/**
 * A JSON object of strings, as `details` and `metadata` are: 0 to 256 entries, keys of 1 to 255 characters.
 * `checkFields` holds further rules, whose faults are found in the same pass.
 *
 * The very object that JSON.parse made is handed on, never a copy made key by key: `__proto__` is data here like any other key.
 */
export const stringMap = (maxValue: number, checkFields: CheckFields = () => undefined) =>
  z
    .custom<Record<string, string>>(isObject, {
      error: (issue) => (issue.input === undefined ? 'is required' : 'must be an object of strings'),
    })
    .check((context) => {
      const entries = Object.entries(context.value);
      const report = (path: PropertyKey[], message: string) =>
        void context.issues.push({ code: 'custom', path, message, input: undefined });
      if (entries.length > MAX_ENTRIES) return report([], `must have at most ${MAX_ENTRIES} entries`);
      for (const [key, value] of entries) {
        const keyFault = textFault(key, 1, MAX_KEY_LENGTH);
        if (keyFault) report([shown(key)], `has a key that ${keyFault}`);
        const valueFault = textFault(value, 1, maxValue);
        if (valueFault) report([shown(key)], valueFault);
      }
      checkFields(context.value, (field, message) => report([field], message));
    });

/** A JSON object whose keys with `null` are taken as absent (design 2, Leniency), shallowly. */
export const withoutNulls = (body: unknown): unknown =>
  isObject(body) ? Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null)) : body;

/** Every failed field with the rule that it broke, on one line: `label: is required; details.url: must be …`. */
export const describeIssues = (error: z.core.$ZodError): string =>
  error.issues.map((issue) => `${issue.path.map(String).join('.') || 'body'}: ${issue.message}`).join('; ');
