import { validationError } from './errors.ts';
import { utf8Order } from './order.ts';
import { type Attributes, attributeOf, typeOf, type Value } from './value.ts';

/** An attribute of the key of a table. All keys are strings. */
export type KeyAttribute = { name: string; type: 'S' };

export type TableDefinition = { name: string; partition: KeyAttribute; sort?: KeyAttribute | undefined };

/** The key of an item: texts in the order of DynamoDB. `sort` is empty in a table without sort key. */
export type Key = { partition: string; sort: string };

/** An item with its size. */
export type StoredItem = { key: Key; item: Attributes; bytes: number };

export class Table {
  readonly definition: TableDefinition;
  /** The items of each partition key value, in the order of their sort keys. */
  readonly #partitions = new Map<string, StoredItem[]>();
  /** The partition keys in the order of a scan. */
  #scanOrder: string[] | undefined;
  count = 0;

  constructor(definition: TableDefinition) {
    this.definition = definition;
  }

  get keyNames(): string[] {
    const { partition, sort } = this.definition;
    return sort ? [partition.name, sort.name] : [partition.name];
  }

  get(key: Key): StoredItem | undefined {
    const items = this.items(key.partition);
    const found = items[firstIndex(items, ({ key: { sort } }) => sort >= key.sort)];
    return found?.key.sort === key.sort ? found : undefined;
  }

  put(stored: StoredItem): void {
    const { partition, sort } = stored.key;
    let items = this.#partitions.get(partition);
    if (!items) {
      items = [];
      this.#partitions.set(partition, items);
      this.#scanOrder = undefined;
    }
    const index = firstIndex(items, ({ key }) => key.sort >= sort);
    const isReplaced = items[index]?.key.sort === sort;
    items.splice(index, isReplaced ? 1 : 0, stored);
    if (!isReplaced) this.count++;
  }

  delete(key: Key): void {
    const items = this.#partitions.get(key.partition);
    if (!items || !this.get(key)) return;
    items.splice(
      firstIndex(items, ({ key: { sort } }) => sort >= key.sort),
      1,
    );
    this.count--;
    if (items.length > 0) return;
    this.#partitions.delete(key.partition);
    this.#scanOrder = undefined;
  }

  items(partition: string): readonly StoredItem[] {
    return this.#partitions.get(partition) ?? [];
  }

  /** Returns the items after a key. The order of partition keys looks random, as in DynamoDB, but is always the same. */
  *scan(after?: Key): Generator<StoredItem> {
    this.#scanOrder ??= [...this.#partitions.keys()].toSorted(byHash);
    for (const partition of this.#scanOrder) {
      const isStart = partition === after?.partition;
      if (after && !isStart && byHash(partition, after.partition) < 0) continue;
      for (const stored of this.items(partition)) {
        if (!isStart || stored.key.sort > after.sort) yield stored;
      }
    }
  }
}

/** Returns the index of the first item for which a condition is true that stays true for all that follow. */
export const firstIndex = (items: readonly StoredItem[], condition: (item: StoredItem) => boolean): number => {
  let [low, high] = [0, items.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    const item = items[middle];
    if (item && condition(item)) high = middle;
    else low = middle + 1;
  }
  return low;
};

const byHash = (a: string, b: string): number => hash(a) - hash(b) || (a < b ? -1 : Number(a > b));

/** FNV-1a. */
const hash = (text: string): number => {
  let value = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) value = Math.imul(value ^ text.charCodeAt(index), 0x01000193);
  return value >>> 0;
};

/** Returns a text that identifies an item among those of all tables. */
export const keyId = ({ definition: { name } }: Table, { partition, sort }: Key): string =>
  JSON.stringify([name, partition, sort]);

const MISMATCH = 'The provided key element does not match the schema';

/** Returns the key of a request that contains nothing else. @throws DynamoDbError if it does not match the table */
export const readKey = (table: Table, attributes: Attributes, message = MISMATCH): Key => {
  const names = table.keyNames;
  if (Object.keys(attributes).length !== names.length) throw validationError(message);
  return keyOf(table, attributes, () => message);
};

/** Returns the key of an item. @throws DynamoDbError if it does not match the table */
export const readItemKey = (table: Table, item: Attributes): Key =>
  keyOf(table, item, (name, value) =>
    value
      ? `One or more parameter values were invalid: Type mismatch for key ${name} expected: S actual: ${typeOf(value)}`
      : `One or more parameter values were invalid: Missing the key ${name} in the item`,
  );

type MismatchMessage = (name: string, value: Value | undefined) => string;

const keyOf = ({ definition }: Table, attributes: Attributes, mismatch: MismatchMessage): Key => {
  const orderIn = ({ name }: KeyAttribute, maxBytes: number): string => {
    const value = attributeOf(attributes, name);
    if (!value || !('S' in value)) throw validationError(mismatch(name, value));
    if (value.S === '') {
      throw validationError(
        `One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: ${name}`,
      );
    }
    if (Buffer.byteLength(value.S) > maxBytes) {
      throw validationError(
        `One or more parameter values were invalid: The key ${name} has exceeded the size limit of ${maxBytes} bytes`,
      );
    }
    return utf8Order(value.S);
  };
  const { partition, sort } = definition;
  return { partition: orderIn(partition, 2048), sort: sort ? orderIn(sort, 1024) : '' };
};
