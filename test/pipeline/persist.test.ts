import { beforeEach, describe, expect, it, vi } from 'vitest';
import { persist } from '../../shared/pipeline/sender/delivery-job.ts';

const time = vi.hoisted(() => ({ leftMs: 30_000, waits: [] as number[] }));
vi.mock('node:timers/promises', () => ({
  setTimeout: async (ms: number) => {
    time.waits.push(ms);
    time.leftMs -= ms;
  },
}));
const job = { timeLeft: () => time.leftMs };

beforeEach(() => {
  time.leftMs = 30_000;
  time.waits.length = 0;
});

describe('a write that must be persisted', () => {
  it('is repeated after longer and longer waits, up to 1 s, until the last one that can end in time', async () => {
    await expect(persist(job, () => Promise.reject(new Error('outage')))).rejects.toThrow('outage');
    expect(time.waits).toEqual([250, 500, ...new Array(16).fill(1_000), 250]);
    expect(time.leftMs).toBe(13_000);
  });

  it('has the result of the first write that succeeds', async () => {
    const write = vi.fn().mockRejectedValueOnce(new Error('outage')).mockResolvedValue('stored');
    expect(await persist(job, write)).toBe('stored');
    expect(time.waits).toEqual([250]);
  });
});
