import { compareNumbers } from './number.ts';
import type { Value } from './value.ts';

/** Returns a text whose order in UTF-16 is the order of DynamoDB, UTF-8, which sorts surrogate pairs last. */
export const utf8Order = (text: string): string =>
  text.replace(/[\ud800-\uffff]/g, (unit) => {
    const code = unit.charCodeAt(0);
    return String.fromCharCode(code >= 0xe000 ? code - 0x800 : code + 0x2000);
  });

/** Returns whether two values compare as the operator says; false if they have no order or different types. */
export const compare = (a: Value, operator: '<' | '<=' | '>' | '>=', b: Value): boolean => {
  const order = orderOf(a, b);
  if (order === undefined) return false;
  if (order === 0) return operator.length === 2;
  return operator.startsWith('<') === order < 0;
};

/** Returns a negative number if `a` is less than `b`, 0 if they are equal; undefined if they have no order. */
const orderOf = (a: Value, b: Value): number | undefined => {
  if ('N' in a && 'N' in b) return compareNumbers(a.N, b.N);
  if ('S' in a && 'S' in b) return textOrder(utf8Order(a.S), utf8Order(b.S));
  return 'B' in a && 'B' in b ? Buffer.compare(Buffer.from(a.B, 'base64'), Buffer.from(b.B, 'base64')) : undefined;
};

const textOrder = (a: string, b: string): number => (a < b ? -1 : Number(a > b));
