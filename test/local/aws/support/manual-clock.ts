import type { Cancel, Clock } from '../../../../bin/local/aws/clock.ts';

/** Time that passes only when a test lets it. */
export class ManualClock implements Clock {
  #now = Date.UTC(2026, 0, 1);
  #timers: { at: number; act: () => void }[] = [];

  now(): number {
    return this.#now;
  }

  after(ms: number, act: () => void): Cancel {
    const timer = { at: this.#now + ms, act };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  /** Lets `seconds` pass and does what is due meanwhile, in order. */
  advance(seconds: number): void {
    const end = this.#now + seconds * 1000;
    for (let next = this.#nextUntil(end); next; next = this.#nextUntil(end)) {
      this.#timers = this.#timers.filter((timer) => timer !== next);
      this.#now = next.at;
      next.act();
    }
    this.#now = end;
  }

  #nextUntil(end: number) {
    return this.#timers.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
  }
}
