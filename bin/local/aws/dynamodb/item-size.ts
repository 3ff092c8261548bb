import { type Attributes, attributesSchema } from './attributes.ts';

/** The largest item that DynamoDB stores. */
export const maximumItemBytes = 400 * 1024;

/** The size of an item as DynamoDB measures it: names and values of all attributes, in bytes of UTF-8. */
export function itemBytes(item: Attributes): number {
  return Object.entries(item).reduce((sum, [name, value]) => sum + Buffer.byteLength(name) + valueBytes(value), 0);
}

/** What a list or map takes besides its elements, and for each of them. */
const containerBytes = 3;
const elementBytes = 1;

function valueBytes(typed: Record<string, unknown>): number {
  const [[type, value] = ['', undefined]] = Object.entries(typed);
  if (Array.isArray(value)) {
    const elements = value.map((element) =>
      type === 'L' ? nestedBytes(element) + elementBytes : scalarBytes(type, element),
    );
    return elements.reduce((sum, bytes) => sum + bytes, type === 'L' ? containerBytes : 0);
  }
  if (type !== 'M') return scalarBytes(type, value);
  const map = attributesSchema.safeParse(value).data ?? {};
  return containerBytes + itemBytes(map) + Object.keys(map).length * elementBytes;
}

function nestedBytes(element: unknown): number {
  const parsed = attributesSchema.safeParse({ element }).data;
  return parsed?.element ? valueBytes(parsed.element) : 0;
}

function scalarBytes(type: string, value: unknown): number {
  if (typeof value !== 'string') return 1;
  if (type.startsWith('N')) return numberBytes(value);
  return type.startsWith('B') ? Buffer.byteLength(value, 'base64') : Buffer.byteLength(value);
}

/** About one byte for two significant digits, one more, and one for a negative sign. */
function numberBytes(number: string): number {
  const digits = number
    .replace(/e.*$/i, '')
    .replace(/[-+.]/g, '')
    .replace(/^0+|0+$/g, '');
  return Math.ceil(digits.length / 2) + 1 + (number.startsWith('-') ? 1 : 0);
}
