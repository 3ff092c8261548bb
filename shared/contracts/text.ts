import * as z from 'zod/mini';

/** `details` or `metadata`. Keys can be `__proto__`, so copy only with spread or `Object.fromEntries`. */
export type StringMap = Readonly<Record<string, string>>;

/** Returns the parameters of a schema of a required value, which must follow `rule`. */
export const typeRule = (rule: string) => ({
  error: ({ input }: { input?: unknown }) => (input === undefined ? 'is required' : rule),
});

/**
 * A string of at most `max` UTF-16 units that passes the checks. `abort` keeps them from reading a longer one: zod runs
 * refinements and regular expressions also after `maxLength` has failed. `npm run check` refuses them elsewhere.
 *
 * @param rule the message about a text that is too long, and by default about any other value (`type`)
 */
export const boundedText = (
  { max, rule, type = rule }: { max: number; rule?: string; type?: string | z.core.$ZodStringParams | undefined },
  ...checks: readonly z.core.$ZodCheck<string>[]
) => z.string(type).check(z.maxLength(max, { abort: true, error: rule }), ...checks);

/** Replaces control and format characters, which change how a terminal or a page shows a text. */
export const replaceControls = (text: string): string => text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '\u{fffd}');
