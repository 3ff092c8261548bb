/** dynalite has no type declarations; these cover what this folder uses of its modules. */

declare module 'dynalite/db/index.js' {
  /** An item in DynamoDB JSON. */
  export type Item = Record<string, Record<string, unknown>>;

  export type Callback<Value = unknown> = (error: Error | null | undefined, value?: Value) => void;

  /** The items of a table. */
  export type SubDb = {
    get(key: string, callback: Callback<Item>): void;
    put(key: string, item: Item, callback: Callback): void;
    del(key: string, callback: Callback): void;
    /** Calls `act` when no other holder has the lock; the function that `release` returns releases it. */
    lock(key: string, act: (release: <Value>(callback: Callback<Value>) => Callback<Value>) => void): void;
  };

  export type Operation = { type: 'put'; key: string; value: Item } | { type: 'del'; key: string };

  export type Table = {
    KeySchema: { AttributeName: string; KeyType: string }[];
    AttributeDefinitions: { AttributeName: string; AttributeType: string }[];
  };

  export type Store = {
    db: {
      open(): Promise<void>;
      close(): Promise<void>;
      /** Returns the values of all keys at one moment. */
      getMany(keys: string[]): Promise<(Item | undefined)[]>;
      /** Applies all operations or none. */
      batch(operations: Operation[]): Promise<void>;
    };
    getTable(name: string, callback: Callback<Table>): void;
    getItemDb(table: string): SubDb;
  };

  /** An error with its response. */
  export type DynaliteError = Error & { statusCode: number; body: { __type: string; message?: string } };

  const db: {
    create(options: { createTableMs: number; path?: string }): Store;
    validateItem(item: unknown, table: Table): DynaliteError | null | undefined;
    validateKey(key: unknown, table: Table): DynaliteError | null | undefined;
    createKey(key: unknown, table: Table): string;
    checkConditional(request: object, item: Item | undefined): DynaliteError | null | undefined;
    validationError(message: string): DynaliteError;
  };
  export default db;
}

declare module 'dynalite/validations/index.js' {
  import type { Store } from 'dynalite/db/index.js';

  /** The members of a request or structure, by name. */
  export type Types = Record<string, unknown>;

  /** Returns a message if a request is invalid; adds its parsed expressions to it. */
  export type Validation = (data: Record<string, unknown>, store: Store) => string | undefined;

  const validations: {
    /** Returns the known members of a request, converted. Throws a response if one has another type. */
    checkTypes(data: unknown, types: Types): Record<string, unknown>;
    /** Throws a response if the request is invalid. */
    checkValidations(data: Record<string, unknown>, types: Types, custom: Validation | undefined, store: Store): void;
  };
  export default validations;
}
