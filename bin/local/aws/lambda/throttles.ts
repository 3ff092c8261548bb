/** The functions whose invocations are refused, as if their concurrency were used up. */
export class Throttles {
  readonly #names: string[] = [];

  /** Refuses the invocations of a function until the returned function is called. */
  add(name: string): () => void {
    this.#names.push(name);
    let active = true;
    return () => {
      if (active) this.#names.splice(this.#names.indexOf(name), 1);
      active = false;
    };
  }

  has(name: string): boolean {
    return this.#names.includes(name);
  }
}
