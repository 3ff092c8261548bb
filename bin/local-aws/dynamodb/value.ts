/**
 * A value of an attribute in DynamoDB JSON. Numbers are normalized, so that equal ones have the same text. The only sets
 * are those of strings.
 */
export type Value =
  | { S: string }
  | { N: string }
  | { B: string }
  | { BOOL: boolean }
  | { NULL: boolean }
  | { SS: readonly string[] }
  | { L: readonly Value[] }
  | { M: Attributes };

/** The attributes of an item or a map. They are never changed: a write replaces them. */
export type Attributes = Readonly<Record<string, Value>>;

/** The name of a type. */
export type Type = 'S' | 'N' | 'B' | 'BOOL' | 'NULL' | 'SS' | 'L' | 'M';
const TYPES = new Set<string>(['S', 'N', 'B', 'BOOL', 'NULL', 'SS', 'L', 'M'] satisfies Type[]);

export const isType = (name: string): name is Type => TYPES.has(name);

export const typeOf = (value: Value): Type => {
  for (const name in value) if (isType(name)) return name;
  throw new Error('A value has no type.');
};

export const attributeOf = (attributes: Attributes, name: string): Value | undefined =>
  Object.hasOwn(attributes, name) ? attributes[name] : undefined;

/** Returns the text of a string, number or binary value, or undefined if the value is of another type. */
export const textOf = (value: Value): string | undefined => {
  if ('S' in value) return value.S;
  if ('N' in value) return value.N;
  return 'B' in value ? value.B : undefined;
};

export const isEqual = (a: Value, b: Value): boolean => {
  const type = typeOf(a);
  if (type !== typeOf(b)) return false;
  const text = textOf(a);
  if (text !== undefined) return text === textOf(b);
  if ('SS' in a && 'SS' in b) return a.SS.length === b.SS.length && a.SS.every((one) => b.SS.includes(one));
  if ('BOOL' in a && 'BOOL' in b) return a.BOOL === b.BOOL;
  if ('L' in a && 'L' in b) return a.L.length === b.L.length && a.L.every((one, index) => isSame(one, b.L[index]));
  if ('M' in a && 'M' in b) {
    const names = Object.keys(a.M);
    return (
      names.length === Object.keys(b.M).length &&
      names.every((name) => isSame(attributeOf(a.M, name), attributeOf(b.M, name)))
    );
  }
  return true;
};

const isSame = (a: Value | undefined, b: Value | undefined): boolean =>
  a !== undefined && b !== undefined && isEqual(a, b);
