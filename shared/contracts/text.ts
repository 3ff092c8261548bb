import * as z from 'zod/mini';
import { isJsonObject } from './json.ts';

/** `details` or `metadata`. Keys can be `__proto__`, so copy only with spread or `Object.fromEntries`. */
export type StringMap = Readonly<Record<string, string>>;

/** The parameters of a schema of a required value. */
export const typeRule = (rule: string) => ({
  error: ({ input }: { input?: unknown }) => (input === undefined ? 'is required' : rule),
});

/**
 * `abort` keeps checks from reading longer texts, which zod runs also after `maxLength` has failed. `npm run check`
 * refuses them elsewhere. By default, `rule` is the message about any other value, too.
 */
export const boundedText = (
  { max, rule, type = rule }: { max: number; rule?: string; type?: string | z.core.$ZodStringParams | undefined },
  ...checks: readonly z.core.$ZodCheck<string>[]
) => z.string(type).check(z.maxLength(max, { abort: true, error: rule }), ...checks);

/** They change how a terminal or a page shows a text. */
export const replaceControls = (text: string): string => text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '\u{fffd}');

/** The length in Unicode code points, the unit of all limits of the API (`😀` is one). */
const codePointCount = (text: string): number => {
  let count = 0;
  for (const _ of text) count++;
  return count;
};

/** Many receivers end strings at NUL, and lone surrogates have no UTF-8 encoding. */
const brokenCharacterRule = (text: string): string | undefined => {
  if (text.includes('\0')) return 'must not contain the NUL character';
  if (!text.isWellFormed()) return 'must be well-formed Unicode, without lone surrogates';
  return undefined;
};

/** Returns the rule that a value breaks, as it follows a field name in an error message. */
export const brokenTextRule = (value: unknown, min: number, max: number): string | undefined => {
  if (typeof value !== 'string') return 'must be a string';
  // A text has at least half as many code points as UTF-16 units, so one of more than 2 * max units is too long.
  const length = value.length > 2 * max ? value.length : codePointCount(value);
  if (length < min || length > max) return `must be ${min} to ${max} characters long`;
  return brokenCharacterRule(value);
};

/** Lengths are in Unicode code points. */
export const text = (min: number, max: number) =>
  z.custom<string>((value) => brokenTextRule(value, min, max) === undefined, {
    error: (issue) => (issue.input === undefined ? 'is required' : brokenTextRule(issue.input, min, max)),
  });

/** Of notifications and tokens, in code points. */
export const MAX_LABEL_LENGTH = 255;

/** Of `details` or `metadata` (docs/api.md#notifications); the length of a key is in code points. */
export const MAX_ENTRIES = 256;
export const MAX_KEY_LENGTH = 255;

/** So that an error response stays smaller than its request. */
export const truncateKey = (key: string): string =>
  key.length > 64 ? `${key.slice(0, 64).toWellFormed()}…` : key.toWellFormed();

/** Reports the invalid fields of a map with unvalidated values, of which none is too long. */
type CheckFields = (map: Readonly<Record<string, unknown>>, report: (field: string, message: string) => void) => void;

/** A copy of the parsed object would lose the key `__proto__`. `checkFields` reads no value that is too long. */
export const stringMap = (maxValueLength: number, checkFields: CheckFields = () => undefined) =>
  z.custom<Record<string, string>>(isJsonObject, typeRule('must be an object of strings')).check((context) => {
    const entries = Object.entries(context.value);
    const report = (path: PropertyKey[], message: string) =>
      void context.issues.push({ code: 'custom', path, message, input: undefined });
    if (entries.length > MAX_ENTRIES) return report([], `must have at most ${MAX_ENTRIES} entries`);
    let isBounded = true;
    for (const [key, value] of entries) {
      isBounded &&= typeof value !== 'string' || value.length <= 2 * maxValueLength;
      const keyRule = brokenTextRule(key, 1, MAX_KEY_LENGTH);
      if (keyRule) report([truncateKey(key)], `has a key that ${keyRule}`);
      const valueRule = brokenTextRule(value, 1, maxValueLength);
      if (valueRule) report([truncateKey(key)], valueRule);
    }
    if (isBounded) checkFields(context.value, (field, message) => report([field], message));
  });

/** Removes the top-level keys that are null (docs/decisions/api.md#leniency). */
export const withoutNulls = (body: unknown): unknown =>
  isJsonObject(body) ? Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null)) : body;

/** Such as `label: is required; details.url: must be …`. */
export const describeIssues = (error: z.core.$ZodError): string =>
  error.issues.map((issue) => `${issue.path.map(String).join('.') || 'body'}: ${issue.message}`).join('; ');
