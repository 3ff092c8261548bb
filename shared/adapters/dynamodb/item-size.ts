/** DynamoDB allows for at most 21 bytes of a number. */
const NUMBER_BYTES = 21;
/** What DynamoDB adds to the size of a map, and to that of each of its entries. */
const MAP_BYTES = 3;
const ENTRY_BYTES = 1;

type Attribute = string | number | Uint8Array | Readonly<Record<string, string>> | undefined;

const attributeBytes = (value: Exclude<Attribute, undefined>): number => {
  if (typeof value === 'string') return Buffer.byteLength(value);
  if (typeof value === 'number') return NUMBER_BYTES;
  if (value instanceof Uint8Array) return value.byteLength;
  return MAP_BYTES + itemBytes(value) + ENTRY_BYTES * Object.keys(value).length;
};

/**
 * The size in bytes by which DynamoDB bills and limits an item: the names and values of its attributes in UTF-8
 * (AWS documentation, "DynamoDB item sizes and formats"). Attributes that are undefined are not stored.
 */
export const itemBytes = (item: Readonly<Record<string, Attribute>>): number =>
  Object.entries(item).reduce(
    (bytes, [name, value]) => (value === undefined ? bytes : bytes + Buffer.byteLength(name) + attributeBytes(value)),
    0,
  );
