import type { Cancel, Clock } from 'local-aws/clock.ts';
import { contexts } from './context.ts';
import { eventLoopTurn, microtasksDone } from './replace-globals.ts';

const TIMERS_PER_TURN = 1_000;

/** A run with more timers than this is endless: some function repeats itself. */
const MAX_TIMERS = 300_000;

type Timer = { dueMs: number; order: number; act: (() => void) | undefined };

const isBefore = (left: Timer, right: Timer): boolean =>
  left.dueMs < right.dueMs || (left.dueMs === right.dueMs && left.order < right.order);

/**
 * The time of a simulation. It stands still while code runs, and then moves to the next timer. Timers with the same due
 * time fire in the order in which they were set, so that a run depends only on its seed.
 */
export class VirtualTime implements Clock {
  #nowMs: number;
  #order = 0;
  #fired = 0;
  #turns: { order: number; take: () => void }[] = [];
  /** A binary heap: the earliest timer is the first. */
  readonly #timers: Timer[] = [];

  /** @param startMs the time at the start, in ms since the epoch */
  constructor(startMs: number) {
    this.#nowMs = startMs;
  }

  now(): number {
    return this.#nowMs;
  }

  /** Runs `act` once after `ms`, in the context of the caller. */
  after(ms: number, act: () => void): Cancel {
    const context = contexts.getStore();
    const timer: Timer = {
      // As in Node.js, timers have whole milliseconds.
      dueMs: this.#nowMs + Math.max(0, Math.trunc(ms) || 0),
      order: this.#order++,
      act: context ? () => contexts.run(context, act) : act,
    };
    this.#push(timer);
    return () => {
      timer.act = undefined;
    };
  }

  /** Resolves when all code has run that can run at this time, in the order of `order` for all that wait for it. */
  turn(order: number): Promise<void> {
    return new Promise((take) => this.#turns.push({ order, take }));
  }

  /**
   * Fires all timers that are due until `untilMs`, or until `isOver` returns true, and resolves after the last.
   *
   * @throws Error if the simulation does not end
   */
  async run(untilMs: number, isOver: () => boolean = () => false): Promise<void> {
    await this.#settle();
    while (!isOver()) {
      this.#fired++;
      // So that a process notices that the one that started it has ended.
      if (this.#fired % TIMERS_PER_TURN === 0) await eventLoopTurn();
      if (this.#fired > MAX_TIMERS) throw new Error('The simulation does not end.');
      const next = this.#timers[0];
      if (!next || next.dueMs > untilMs) break;
      this.#pop();
      if (!next.act) continue;
      this.#nowMs = next.dueMs;
      next.act();
      await this.#settle();
    }
    if (!isOver()) this.#nowMs = Math.max(this.#nowMs, untilMs);
  }

  async #settle(): Promise<void> {
    await microtasksDone();
    while (this.#turns.length > 0) {
      const turns = this.#turns.toSorted((left, right) => left.order - right.order);
      this.#turns = [];
      for (const { take } of turns) take();
      await microtasksDone();
    }
  }

  #push(timer: Timer): void {
    const heap = this.#timers;
    let index = heap.push(timer) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      const other = heap[parent];
      if (!other || !isBefore(timer, other)) break;
      heap[index] = other;
      index = parent;
    }
    heap[index] = timer;
  }

  #pop(): void {
    const heap = this.#timers;
    const last = heap.pop();
    if (!last || heap.length === 0) return;
    let index = 0;
    while (true) {
      const left = heap[2 * index + 1];
      const right = heap[2 * index + 2];
      const child = right && left && isBefore(right, left) ? right : left;
      if (!child || !isBefore(child, last)) break;
      heap[index] = child;
      index = child === right ? 2 * index + 2 : 2 * index + 1;
    }
    heap[index] = last;
  }
}
