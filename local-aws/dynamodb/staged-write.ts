import db, {
  type Callback,
  type DynaliteError,
  type Item,
  type Operation as LevelOperation,
  type Store,
  type SubDb,
} from 'dynalite/db/index.js';
import { isDynaliteError, type Operation, run, type Validated } from './dynalite.ts';
import { itemBytes, MAX_ITEM_BYTES } from './item-size.ts';
import { itemPrefix } from './level-keys.ts';

/** A write of one item whose condition was checked and whose changes were computed, but not applied. */
export type StagedWrite = {
  outcome: Outcome;
  /** The item before the write. */
  before: Item | undefined;
  /** The size of the item after the write, 0 if it does not exist. */
  bytesAfter: number;
  /** The changes of the table. */
  changes: LevelOperation[];
  /** Unlocks the item. */
  release(): void;
};

/** The response to a write, or why it fails. */
type Outcome = { response: object } | { error: DynaliteError };

/**
 * Runs a write of dynalite on a store that keeps its changes back. Waits for other writes of the item, and keeps them
 * waiting until the release.
 */
export const stageWrite = async (
  store: Store,
  operation: Pick<Operation, 'run'>,
  data: Validated,
): Promise<StagedWrite> => {
  const staging = new StagingStore(store);
  const outcome: Outcome = await run(staging.view, operation, data).then(
    (response) => ({ response }),
    (error: unknown) => {
      if (isDynaliteError(error)) return { error };
      staging.release();
      throw error;
    },
  );
  const { before, after, changes } = staging;
  const bytesAfter = itemBytes(after ?? {});
  return {
    outcome: bytesAfter > MAX_ITEM_BYTES ? { error: itemTooLarge } : outcome,
    before,
    bytesAfter,
    changes,
    release: () => staging.release(),
  };
};

/** A put that is too large is rejected before; dynalite does not count the bytes of an updated item. */
const itemTooLarge = db.validationError('Item size to update has exceeded the maximum allowed size');

/** Applies all changes of some writes at once. */
export const commit = (store: Store, writes: readonly StagedWrite[]): Promise<void> =>
  store.db.batch(writes.flatMap(({ changes }) => changes));

class StagingStore {
  readonly view: Store;
  readonly changes: LevelOperation[] = [];
  before: Item | undefined;
  after: Item | undefined;
  #release: () => void = () => {};

  constructor(store: Store) {
    this.view = { ...store, getItemDb: (table) => this.#items(store.getItemDb(table), itemPrefix(table)) };
  }

  release(): void {
    this.#release();
  }

  #items(items: SubDb, prefix: string): SubDb {
    const add = (change: LevelOperation, callback: Callback) => {
      this.changes.push(change);
      callback(null);
    };
    return {
      get: (key, callback) =>
        items.get(key, (error, item) => {
          this.before = item;
          this.after = item;
          callback(error, item);
        }),
      put: (key, item, callback) => {
        this.after = item;
        add({ type: 'put', key: prefix + key, value: item }, callback);
      },
      del: (key, callback) => {
        this.after = undefined;
        add({ type: 'del', key: prefix + key }, callback);
      },
      lock: (key, act) =>
        items.lock(key, (release) => {
          this.#release = () => release(() => {})(null);
          act((callback) => callback);
        }),
    };
  }
}
