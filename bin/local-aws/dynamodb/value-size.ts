import { significantDigits } from './number.ts';
import type { Attributes, Value } from './value.ts';

/** The maximum size of an item. */
export const MAX_ITEM_BYTES = 400 * 1024;

/** Returns the size that DynamoDB counts: the names and values of all attributes, in UTF-8 bytes. */
export const itemBytes = (item: Attributes): number =>
  Object.entries(item).reduce((sum, [name, value]) => sum + Buffer.byteLength(name) + valueBytes(value), 0);

/** The overhead of a list or map, and of each of its elements. */
const CONTAINER_BYTES = 3;
const ELEMENT_BYTES = 1;

export const valueBytes = (value: Value): number => {
  if ('L' in value) return value.L.reduce((sum, one) => sum + valueBytes(one) + ELEMENT_BYTES, CONTAINER_BYTES);
  if ('M' in value) return CONTAINER_BYTES + itemBytes(value.M) + Object.keys(value.M).length * ELEMENT_BYTES;
  if ('SS' in value) return value.SS.reduce((sum, element) => sum + Buffer.byteLength(element), 0);
  if ('S' in value) return Buffer.byteLength(value.S);
  if ('B' in value) return Buffer.byteLength(value.B, 'base64');
  return 'N' in value ? numberBytes(value.N) : 1;
};

/** About one byte for two significant digits, one byte of overhead, and one for a negative sign. */
const numberBytes = (number: string): number =>
  Math.ceil(significantDigits(number.replace(/[-.]/g, '')).length / 2) + 1 + (number.startsWith('-') ? 1 : 0);
