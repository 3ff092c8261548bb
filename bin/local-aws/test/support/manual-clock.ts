import type { Cancel, Clock } from '../../clock.ts';

export class ManualClock implements Clock {
  #nowMs = Date.UTC(2026, 0, 1);
  #timers: { atMs: number; act: () => void }[] = [];

  now(): number {
    return this.#nowMs;
  }

  after(ms: number, act: () => void): Cancel {
    const timer = { atMs: this.#nowMs + ms, act };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  /** Moves time forward and fires the timers that become due, in order. */
  advance(seconds: number): void {
    const endMs = this.#nowMs + seconds * 1000;
    for (let next = this.#nextUntil(endMs); next; next = this.#nextUntil(endMs)) {
      this.#timers = this.#timers.filter((timer) => timer !== next);
      this.#nowMs = next.atMs;
      next.act();
    }
    this.#nowMs = endMs;
  }

  #nextUntil(endMs: number) {
    return this.#timers.filter(({ atMs }) => atMs <= endMs).sort((a, b) => a.atMs - b.atMs)[0];
  }
}
