import { type Attributes, attributesSchema } from './attributes.ts';

/** The maximum size of an item. */
export const MAX_ITEM_BYTES = 400 * 1024;

/** Returns the size that DynamoDB counts: the names and values of all attributes, in UTF-8 bytes. */
export const itemBytes = (item: Attributes): number =>
  Object.entries(item).reduce((sum, [name, value]) => sum + Buffer.byteLength(name) + valueBytes(value), 0);

/** The overhead of a list or map, and of each of its elements. */
const CONTAINER_BYTES = 3;
const ELEMENT_BYTES = 1;

const valueBytes = (typed: Record<string, unknown>): number => {
  const [[type, value] = ['', undefined]] = Object.entries(typed);
  if (Array.isArray(value)) {
    const elements = value.map((element) =>
      type === 'L' ? nestedBytes(element) + ELEMENT_BYTES : scalarBytes(type, element),
    );
    return elements.reduce((sum, bytes) => sum + bytes, type === 'L' ? CONTAINER_BYTES : 0);
  }
  if (type !== 'M') return scalarBytes(type, value);
  const map = attributesSchema.safeParse(value).data ?? {};
  return CONTAINER_BYTES + itemBytes(map) + Object.keys(map).length * ELEMENT_BYTES;
};

const nestedBytes = (element: unknown): number => {
  const parsed = attributesSchema.safeParse({ element }).data;
  return parsed?.element ? valueBytes(parsed.element) : 0;
};

const scalarBytes = (type: string, value: unknown): number => {
  if (typeof value !== 'string') return 1;
  if (type.startsWith('N')) return numberBytes(value);
  return type.startsWith('B') ? Buffer.byteLength(value, 'base64') : Buffer.byteLength(value);
};

/** About one byte for two significant digits, one byte of overhead, and one for a negative sign. */
const numberBytes = (number: string): number => {
  const digits = number
    .replace(/e.*$/i, '')
    .replace(/[-+.]/g, '')
    .replace(/^0+|0+$/g, '');
  return Math.ceil(digits.length / 2) + 1 + (number.startsWith('-') ? 1 : 0);
};
