import { existsSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { z } from 'zod';
import { StartError } from '../start-error.ts';
import { readAttributes } from './read-value.ts';
import { readItemKey, type TableDefinition } from './table.ts';
import { type Change, type Storage, Tables } from './tables.ts';
import { itemBytes } from './value-size.ts';

const keyAttribute = z.object({ name: z.string(), type: z.literal('S') });
const definitionSchema = z.object({ name: z.string(), partition: keyAttribute, sort: keyAttribute.optional() });
const definitionRow = z.object({ definition: z.string() });
const itemRow = z.object({ table_name: z.string(), item: z.string() });

/** SQLite: `database is locked`. */
const BUSY = 5;

/**
 * Opens the tables in a directory. They are in memory, and each write is also stored in an SQLite database, so that it
 * survives the end of the process, also a killed one.
 *
 * @param isNew whether to create the database if there is none
 * @throws StartError if another process uses it, or it is damaged or missing
 */
export const openTables = (directory: string, isNew: boolean): Tables => {
  const file = join(directory, 'tables.sqlite');
  if (!isNew && !existsSync(file)) throw damaged(directory, 'tables.sqlite is missing');
  mkdirSync(directory, { recursive: true });
  const database = new DatabaseSync(file, { timeout: 0 });
  try {
    database.exec(SETUP);
    const [check] = database.prepare('PRAGMA quick_check').all();
    if (check?.quick_check !== 'ok') throw new Error(String(check?.quick_check));
    const tables = new Tables(storageIn(database));
    load(database, tables);
    return tables;
  } catch (error) {
    database.close();
    if (!(error instanceof Error)) throw error;
    if ('errcode' in error && error.errcode === BUSY) {
      throw new StartError(
        `${dirname(directory)} is in use by another local stack: stop it, or use another directory.`,
      );
    }
    throw damaged(directory, error.message);
  }
};

const damaged = (directory: string, reason: string) =>
  new StartError(`${directory} is damaged: delete ${dirname(directory)} to start with empty tables (${reason}).`);

/** The lock is held until the process ends, and a write is complete when the operating system has it. */
const SETUP = `
  PRAGMA locking_mode = EXCLUSIVE;
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = NORMAL;
  CREATE TABLE IF NOT EXISTS tables (definition TEXT NOT NULL);
  CREATE TABLE IF NOT EXISTS items (
    table_name TEXT NOT NULL, key TEXT NOT NULL, item TEXT NOT NULL, PRIMARY KEY (table_name, key)
  ) WITHOUT ROWID;
`;

const load = (database: DatabaseSync, tables: Tables): void => {
  for (const row of database.prepare('SELECT definition FROM tables').iterate()) {
    tables.load(definitionSchema.parse(JSON.parse(definitionRow.parse(row).definition)));
  }
  for (const row of database.prepare('SELECT table_name, item FROM items').iterate()) {
    const { table_name: name, item: text } = itemRow.parse(row);
    const item = readAttributes(JSON.parse(text));
    const table = tables.get(name);
    table.put({ key: readItemKey(table, item), item, bytes: itemBytes(item) });
  }
};

const storageIn = (database: DatabaseSync): Storage => {
  const create = database.prepare('INSERT INTO tables VALUES (?)');
  const put = database.prepare('INSERT OR REPLACE INTO items VALUES (?, ?, ?)');
  const remove = database.prepare('DELETE FROM items WHERE table_name = ? AND key = ?');
  const apply = (change: Change): void => {
    const { name } = change.table.definition;
    const { partition, sort } = 'put' in change ? change.put.key : change.delete;
    const key = JSON.stringify([partition, sort]);
    if ('put' in change) put.run(name, key, JSON.stringify(change.put.item));
    else remove.run(name, key);
  };
  return {
    create: (definition: TableDefinition) => {
      create.run(JSON.stringify(definition));
    },
    write(changes) {
      database.exec('BEGIN');
      for (const change of changes) apply(change);
      database.exec('COMMIT');
    },
    close: () => database.close(),
  };
};
