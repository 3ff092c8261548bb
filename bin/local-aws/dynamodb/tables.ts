import { exception } from './errors.ts';
import { type Key, type StoredItem, Table, type TableDefinition } from './table.ts';

/** A change of an item: the item after it, or the key of one to delete. */
export type Change = { table: Table } & ({ put: StoredItem } | { delete: Key });

/** A change of an item, with the item before and after it. */
export type ItemChange = { table: Table; before: StoredItem | undefined; after: StoredItem | undefined };

export type Storage = {
  create(table: TableDefinition): void;
  /** Stores all changes or none. */
  write(changes: readonly Change[]): void;
  close(): void;
};

export class Tables {
  readonly #tables = new Map<string, Table>();
  readonly #storage: Storage | undefined;
  readonly #watchers = new Map<string, (change: ItemChange) => void>();

  constructor(storage?: Storage) {
    this.#storage = storage;
  }

  /** The names of the tables, sorted. */
  get names(): string[] {
    return [...this.#tables.keys()].toSorted();
  }

  /** @throws DynamoDbError if there is no table with this name */
  get(name: string, message = 'Requested resource not found'): Table {
    const table = this.#tables.get(name);
    if (!table) throw exception('ResourceNotFoundException', message);
    return table;
  }

  /** @throws DynamoDbError if there is a table with this name */
  create(definition: TableDefinition): Table {
    if (this.#tables.has(definition.name)) {
      throw exception('ResourceInUseException', `Table already exists: ${definition.name}`);
    }
    this.#storage?.create(definition);
    return this.load(definition);
  }

  /** Adds a table that is stored already. */
  load(definition: TableDefinition): Table {
    const table = new Table(definition);
    this.#tables.set(definition.name, table);
    return table;
  }

  /** Applies all changes at once. */
  write(changes: readonly Change[]): void {
    this.#storage?.write(changes);
    for (const change of changes) {
      const { table } = change;
      const watcher = this.#watchers.get(table.definition.name);
      const before = watcher && table.get('put' in change ? change.put.key : change.delete);
      if ('put' in change) table.put(change.put);
      else table.delete(change.delete);
      watcher?.({ table, before, after: 'put' in change ? change.put : undefined });
    }
  }

  /** Calls `watcher` after each change of an item of a table, in order. A table has at most one watcher. */
  watch(tableName: string, watcher: (change: ItemChange) => void): void {
    this.#watchers.set(tableName, watcher);
  }

  /** Releases the storage. */
  close(): void {
    this.#storage?.close();
  }
}
