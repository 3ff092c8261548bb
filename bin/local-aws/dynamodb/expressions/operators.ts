import { compare } from '../order.ts';
import { isEqual, type Type, typeOf, type Value } from '../value.ts';

/** The values of operands; undefined for an attribute that does not exist. */
export type Values = readonly (Value | undefined)[];

type Operator<Result> = {
  types?: readonly Type[];
  count?: number;
  needsPath?: boolean;
  type?: Type;
  of(values: Values): Result;
};

const ORDERED: readonly Type[] = ['S', 'N', 'B'];
const isOrdered = (a: Value | undefined, operator: '<' | '<=' | '>' | '>=', b: Value | undefined): boolean =>
  a !== undefined && b !== undefined && compare(a, operator, b);
const ordering = (operator: '<' | '<=' | '>' | '>='): Operator<boolean> => ({
  types: ORDERED,
  of: ([a, b]) => isOrdered(a, operator, b),
});
const equals = (a: Value | undefined, b: Value | undefined): boolean =>
  a !== undefined && b !== undefined && isEqual(a, b);

export const CONDITIONS: Readonly<Record<string, Operator<boolean>>> = {
  '=': { of: ([a, b]) => equals(a, b) },
  '<>': { of: ([a, b]) => !equals(a, b) },
  '<': ordering('<'),
  '<=': ordering('<='),
  '>': ordering('>'),
  '>=': ordering('>='),
  BETWEEN: {
    types: ORDERED,
    of: ([value, low, high]) => isOrdered(value, '>=', low) && isOrdered(value, '<=', high),
  },
  attribute_exists: { count: 1, needsPath: true, of: ([value]) => value !== undefined },
  attribute_not_exists: { count: 1, needsPath: true, of: ([value]) => value === undefined },
  begins_with: {
    count: 2,
    types: ['S', 'B'],
    of: ([value, start]) => hasText(value, start, (text, part) => text.startsWith(part)),
  },
  contains: {
    count: 2,
    of: ([value, member]) => value !== undefined && member !== undefined && contains(value, member),
  },
};

const bytes = (base64: string): string => Buffer.from(base64, 'base64').toString('latin1');

/** Returns whether two strings or two binary values match. */
const hasText = (
  a: Value | undefined,
  b: Value | undefined,
  matches: (text: string, part: string) => boolean,
): boolean => {
  if (!a || !b) return false;
  if ('S' in a && 'S' in b) return matches(a.S, b.S);
  return 'B' in a && 'B' in b && matches(bytes(a.B), bytes(b.B));
};

const contains = (value: Value, member: Value): boolean => {
  if ('L' in value) return value.L.some((element) => isEqual(element, member));
  if ('SS' in value) return 'S' in member && value.SS.includes(member.S);
  return hasText(value, member, (text, part) => text.includes(part));
};

export const FUNCTIONS: Readonly<Record<string, Operator<Value | undefined>>> = {
  size: {
    count: 1,
    types: ['S', 'B', 'SS', 'L', 'M'],
    type: 'N',
    of: ([value]) => {
      const size = value && sizeOf(value);
      return size === undefined ? undefined : { N: String(size) };
    },
  },
  if_not_exists: { count: 2, needsPath: true, of: ([value, otherwise]) => value ?? otherwise },
};

const sizeOf = (value: Value): number | undefined => {
  if ('S' in value) return value.S.length;
  if ('B' in value) return bytes(value.B).length;
  if ('L' in value) return value.L.length;
  if ('SS' in value) return value.SS.length;
  return 'M' in value ? Object.keys(value.M).length : undefined;
};

/** Returns what is wrong with the bounds of a `BETWEEN`, as far as they are known, or undefined. */
export const boundsError = ([, low, high]: Values): string | undefined => {
  if (!low || !high || compare(low, '<=', high)) return undefined;
  return typeOf(low) === typeOf(high)
    ? 'The BETWEEN operator requires upper bound to be greater than or equal to lower bound'
    : 'The BETWEEN operator requires same data type for lower and upper bounds';
};
