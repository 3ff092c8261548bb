import { numberOrder } from './number.ts';
import type { Value } from './value.ts';

/**
 * Returns a text for a string, number or binary value whose order among those of the same type is the order of
 * DynamoDB; undefined for other types. Equal values have the same text.
 */
export const orderOf = (value: Value): string | undefined => {
  if ('S' in value) return utf8Order(value.S);
  if ('N' in value) return numberOrder(value.N);
  return 'B' in value ? Buffer.from(value.B, 'base64').toString('latin1') : undefined;
};

/** UTF-8 sorts surrogate pairs after all other characters, UTF-16 does not. */
const utf8Order = (text: string): string =>
  text.replace(/[\ud800-\uffff]/g, (unit) => {
    const code = unit.charCodeAt(0);
    return String.fromCharCode(code >= 0xe000 ? code - 0x800 : code + 0x2000);
  });

/** Returns whether two values compare as the operator says; false if they have no order or different types. */
export const compare = (a: Value, operator: '<' | '<=' | '>' | '>=', b: Value): boolean => {
  const isComparable = ('S' in a && 'S' in b) || ('N' in a && 'N' in b) || ('B' in a && 'B' in b);
  const [first, second] = isComparable ? [orderOf(a), orderOf(b)] : [];
  if (first === undefined || second === undefined) return false;
  if (first === second) return operator.length === 2;
  return operator.startsWith('<') === first < second;
};
