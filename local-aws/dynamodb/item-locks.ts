/** The items that transactions in progress write, by their ID. */
export class ItemLocks {
  readonly #released = new Map<string, Promise<void>>();

  /** Locks items that are not locked, until the returned function is called. */
  lock(ids: readonly string[]): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    for (const id of ids) this.#released.set(id, promise);
    return () => {
      for (const id of ids) this.#released.delete(id);
      resolve();
    };
  }

  isLocked(id: string): boolean {
    return this.#released.has(id);
  }

  /** Resolves when no item is locked whose ID starts with this prefix. */
  async untilReleased(prefix: string): Promise<void> {
    for (const [id, released] of this.#released) {
      if (id.startsWith(prefix)) await released;
    }
  }
}
