import { validationError } from '../errors.ts';
import { addNumbers } from '../number.ts';
import { compare } from '../order.ts';
import { isEqual, isType, setOf, type Type, textOf, typeOf, type Value } from '../value.ts';

/** The values of operands; undefined for an attribute that does not exist. */
export type Values = readonly (Value | undefined)[];

/** An operator or a function: the types that it permits, and what it returns. */
type Operator<Result> = {
  types?: readonly Type[];
  count?: number;
  needsPath?: boolean;
  type?: Type;
  of(values: Values): Result;
};

const ORDERED: readonly Type[] = ['S', 'N', 'B'];
const ordering = (operator: '<' | '<=' | '>' | '>='): Operator<boolean> => ({
  types: ORDERED,
  of: ([a, b]) => a !== undefined && b !== undefined && compare(a, operator, b),
});
const equals = (a: Value | undefined, b: Value | undefined): boolean =>
  a !== undefined && b !== undefined && isEqual(a, b);
const isBetween = ([value, low, high]: Values): boolean =>
  value !== undefined &&
  low !== undefined &&
  high !== undefined &&
  compare(value, '>=', low) &&
  compare(value, '<=', high);

/** The operators and functions that conditions consist of. */
export const CONDITIONS: Readonly<Record<string, Operator<boolean>>> = {
  '=': { of: ([a, b]) => equals(a, b) },
  '<>': { of: ([a, b]) => !equals(a, b) },
  '<': ordering('<'),
  '<=': ordering('<='),
  '>': ordering('>'),
  '>=': ordering('>='),
  BETWEEN: { types: ORDERED, of: isBetween },
  IN: { of: ([value, ...others]) => others.some((other) => equals(value, other)) },
  attribute_exists: { count: 1, needsPath: true, of: ([value]) => value !== undefined },
  attribute_not_exists: { count: 1, needsPath: true, of: ([value]) => value === undefined },
  attribute_type: {
    count: 2,
    of: ([value, type]) => value !== undefined && type !== undefined && typeOf(value) === textOf(type),
  },
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
  const elements = setOf(value);
  if (elements) return typeOf(value) === `${typeOf(member)}S` && elements.includes(textOf(member) ?? '');
  return hasText(value, member, (text, part) => text.includes(part));
};

/** Creates the error for an update that the stored item does not permit. */
export const wrongType = () => validationError('An operand in the update expression has an incorrect data type');

const addition = (sign: 1 | -1): Operator<Value | undefined> => ({
  types: ['N'],
  type: 'N',
  of: ([a, b]) => {
    if (!a || !b) return undefined;
    if ('N' in a && 'N' in b) return { N: addNumbers(a.N, b.N, sign) };
    throw wrongType();
  },
});

/** The operators and functions that return a value. */
export const FUNCTIONS: Readonly<Record<string, Operator<Value | undefined>>> = {
  size: {
    count: 1,
    types: ['S', 'B', 'SS', 'NS', 'BS', 'L', 'M'],
    type: 'N',
    of: ([value]) => {
      const size = value && sizeOf(value);
      return size === undefined ? undefined : { N: String(size) };
    },
  },
  if_not_exists: { count: 2, needsPath: true, of: ([value, otherwise]) => value ?? otherwise },
  list_append: {
    count: 2,
    types: ['L'],
    type: 'L',
    of: ([a, b]) => {
      if (!a || !b) return undefined;
      if ('L' in a && 'L' in b) return { L: [...a.L, ...b.L] };
      throw wrongType();
    },
  },
  '+': addition(1),
  '-': addition(-1),
};

const sizeOf = (value: Value): number | undefined => {
  if ('S' in value) return value.S.length;
  if ('B' in value) return bytes(value.B).length;
  if ('L' in value) return value.L.length;
  return 'M' in value ? Object.keys(value.M).length : setOf(value)?.length;
};

/** Returns what is wrong with the literals of an operator that types do not express. */
export const literalError = (operator: string, [, second, third]: Values): string | undefined => {
  if (operator === 'attribute_type') {
    if (!second || !('S' in second))
      return `Incorrect operand type for operator or function; operator or function: ${operator}, operand type: ${second && typeOf(second)}`;
    return isType(second.S)
      ? undefined
      : `Invalid attribute type name found; type: ${second.S}, valid types: {B,NULL,SS,BOOL,L,BS,N,NS,S,M}`;
  }
  if (operator !== 'BETWEEN' || !second || !third || compare(second, '<=', third)) return undefined;
  return typeOf(second) === typeOf(third)
    ? 'The BETWEEN operator requires upper bound to be greater than or equal to lower bound'
    : 'The BETWEEN operator requires same data type for lower and upper bounds';
};
