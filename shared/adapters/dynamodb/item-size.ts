/** The maximum size of a number in DynamoDB. */
const NUMBER_BYTES = 21;
/** The overhead of a map, and of each of its entries. */
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
 * Returns the item size in bytes that DynamoDB bills and limits: attribute names and values in UTF-8 (AWS
 * documentation, "DynamoDB item sizes and formats"). Undefined attributes are not stored.
 */
export const itemBytes = (item: Readonly<Record<string, Attribute>>): number =>
  Object.entries(item).reduce(
    (bytes, [name, value]) => (value === undefined ? bytes : bytes + Buffer.byteLength(name) + attributeBytes(value)),
    0,
  );
