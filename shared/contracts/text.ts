import * as z from 'zod/mini';

/** `details` or `metadata`. Keys can be `__proto__`, so copy only with spread or `Object.fromEntries`. */
export type StringMap = Readonly<Record<string, string>>;

/** The parameters of a schema of a required value. */
export const typeRule = (rule: string) => ({
  error: ({ input }: { input?: unknown }) => (input === undefined ? 'is required' : rule),
});

/**
 * A string of at most `max` UTF-16 units. `abort` keeps the checks from reading a longer one: zod runs refinements and
 * regular expressions also after `maxLength` has failed. `npm run check` refuses them elsewhere.
 *
 * @param rule the message about a text that is too long, and by default about any other value (`type`)
 */
export const boundedText = (
  { max, rule, type = rule }: { max: number; rule?: string; type?: string | z.core.$ZodStringParams | undefined },
  ...checks: readonly z.core.$ZodCheck<string>[]
) => z.string(type).check(z.maxLength(max, { abort: true, error: rule }), ...checks);

/** They change how a terminal or a page shows a text. */
export const replaceControls = (text: string): string => text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '\u{fffd}');
