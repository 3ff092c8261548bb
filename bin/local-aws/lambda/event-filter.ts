import { z } from 'zod';

/** A condition on a text: it is equal, begins with, is none of, or exists. */
const rule = z.union([
  z.string(),
  z.strictObject({ prefix: z.string() }),
  z.strictObject({ 'anything-but': z.array(z.string()) }),
  z.strictObject({ exists: z.boolean() }),
]);

type Rule = z.infer<typeof rule>;

/** A pattern: for each name, alternative conditions, or a pattern of its value. */
type Pattern = { [name: string]: Rule[] | Pattern };

const pattern: z.ZodType<Pattern> = z.record(
  z.string(),
  z.lazy(() => z.union([z.array(rule), pattern])),
);

/** The filter criteria of an event source mapping: patterns, of which one must match. */
export const filterCriteria = z.object({
  Filters: z.array(
    z.object({
      Pattern: z
        .string()
        .transform((text): unknown => JSON.parse(text))
        .pipe(pattern),
    }),
  ),
});

const matchesRule = (condition: Rule, value: unknown): boolean => {
  if (typeof condition === 'string') return value === condition;
  if ('exists' in condition) return condition.exists === (value !== undefined);
  if (typeof value !== 'string') return false;
  return 'prefix' in condition ? value.startsWith(condition.prefix) : !condition['anything-but'].includes(value);
};

const memberOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name) ? Reflect.get(value, name) : undefined;

const matchesPattern = (wanted: Pattern, value: unknown): boolean =>
  Object.entries(wanted).every(([name, conditions]) => {
    const member = memberOf(value, name);
    return Array.isArray(conditions)
      ? conditions.some((condition) => matchesRule(condition, member))
      : matchesPattern(conditions, member);
  });

/** Returns whether a record passes the filters of an event source mapping: without filters, each does. */
export const passesFilters = ({ Filters }: z.infer<typeof filterCriteria>, record: unknown): boolean =>
  Filters.length === 0 || Filters.some(({ Pattern: wanted }) => matchesPattern(wanted, record));
