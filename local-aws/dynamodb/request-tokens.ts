import type { Clock } from '../clock.ts';

/** How long a token is valid after its transaction was applied. */
const VALIDITY_MS = 10 * 60_000;

/** What a token says about a request: it must run, runs now, was applied, or its token belongs to another request. */
export type TokenState<Result> = { is: 'new' | 'in progress' | 'mismatch' } | { is: 'applied'; result: Result };

type Use<Result> = {
  fingerprint: string;
  /** Absent while the transaction is in progress. */
  applied?: { result: Result; expiresAtMs: number };
};

/** The client request tokens of transactions that are in progress or were applied within ten minutes. */
export class RequestTokens<Result> {
  readonly #clock: Clock;
  readonly #uses = new Map<string, Use<Result>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns the state of a token. If it is new, `end` must follow. */
  begin(token: string, fingerprint: string): TokenState<Result> {
    this.#removeExpired();
    const use = this.#uses.get(token);
    if (!use) {
      this.#uses.set(token, { fingerprint });
      return { is: 'new' };
    }
    if (use.fingerprint !== fingerprint) return { is: 'mismatch' };
    return use.applied ? { is: 'applied', result: use.applied.result } : { is: 'in progress' };
  }

  /** Ends the use of a new token. Without a result, the transaction was not applied: the token can be used again. */
  end(token: string, result: Result | undefined): void {
    const use = this.#uses.get(token);
    // Inserted again, so that tokens are in the order of their expiry.
    this.#uses.delete(token);
    if (!use || result === undefined) return;
    this.#uses.set(token, { ...use, applied: { result, expiresAtMs: this.#clock.now() + VALIDITY_MS } });
  }

  #removeExpired(): void {
    for (const [token, { applied }] of this.#uses) {
      if (!applied) continue;
      if (applied.expiresAtMs > this.#clock.now()) return;
      this.#uses.delete(token);
    }
  }
}
