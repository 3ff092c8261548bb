import type { Clock } from '../clock.ts';

/** How long a token is valid after its transaction was applied. */
const VALIDITY_MS = 10 * 60_000;

type Use<Result> = { fingerprint: string; result: Result; expiresAtMs: number };

/** The client request tokens of transactions that were applied within ten minutes, in the order of their expiry. */
export class RequestTokens<Result> {
  readonly #clock: Clock;
  readonly #uses = new Map<string, Use<Result>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns the request that was applied with a token, or undefined if there is none. */
  find(token: string): Use<Result> | undefined {
    for (const [old, { expiresAtMs }] of this.#uses) {
      if (expiresAtMs > this.#clock.now()) break;
      this.#uses.delete(old);
    }
    return this.#uses.get(token);
  }

  /** Adds the token of an applied request; `fingerprint` identifies its parameters. */
  add(token: string, fingerprint: string, result: Result): void {
    this.#uses.set(token, { fingerprint, result, expiresAtMs: this.#clock.now() + VALIDITY_MS });
  }
}
