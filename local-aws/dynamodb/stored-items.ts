import type { Attributes } from './attributes.ts';

/** The names of a table's key attributes. */
export type TableKey = {
  partition: string;
  sort: string | undefined;
};

/** The keys of the tables and the sizes of their items, derived from the requests. */
export class StoredItems {
  readonly #tables = new Map<string, { key: TableKey; bytes: Map<string, number> }>();

  addTable(table: string, key: TableKey): void {
    this.#tables.set(table, { key, bytes: new Map() });
  }

  keyOf(table: string): TableKey | undefined {
    return this.#tables.get(table)?.key;
  }

  /** Returns the partition key value of an item or a key. */
  partitionKey(table: string, attributes: Attributes): string | undefined {
    const key = this.keyOf(table);
    return key && keyText(attributes[key.partition]);
  }

  /** Returns the size of the item with this key in bytes, 0 if there is none. */
  bytes(table: string, attributes: Attributes): number {
    return this.#tables.get(table)?.bytes.get(this.id(table, attributes)) ?? 0;
  }

  /** Sets the size of an item; 0 removes it. */
  setBytes(table: string, attributes: Attributes, bytes: number): void {
    const sizes = this.#tables.get(table)?.bytes;
    if (bytes === 0) sizes?.delete(this.id(table, attributes));
    else sizes?.set(this.id(table, attributes), bytes);
  }

  /** Returns the ID of an item: its table, a space, and its key. */
  id(table: string, attributes: Attributes): string {
    const key = this.keyOf(table);
    const sort = key?.sort === undefined ? '' : keyText(attributes[key.sort]);
    return `${table} ${JSON.stringify([key && keyText(attributes[key.partition]), sort])}`;
  }
}

/** Returns the value of a key attribute: DynamoDB JSON represents strings, numbers and binary keys as text. */
export const keyText = (value: Record<string, unknown> | undefined): string | undefined => {
  const [text] = Object.values(value ?? {});
  return typeof text === 'string' ? text : undefined;
};
