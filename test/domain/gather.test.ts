import { expect, it, vi } from 'vitest';
import { createGatherer } from '../../shared/domain/gather.ts';

/** Sets up a gatherer whose groups close when the test says so. */
const setUp = () => {
  const due: (() => void)[] = [];
  const handle = vi.fn(async (values: readonly number[], key: string) => `${key}: ${values.join()}`);
  const gather = createGatherer(handle, (close) => due.push(close));
  const closeAll = () => {
    for (const close of due) close();
  };
  return { gather, handle, closeAll };
};

it('handles the values of a key together, and those of another key apart', async () => {
  const { gather, handle, closeAll } = setUp();
  const results = [gather('a', 1), gather('b', 2), gather('a', 3)].map(({ result }) => result);
  expect(handle).not.toHaveBeenCalled();
  closeAll();
  expect(await Promise.all(results)).toEqual(['a: 1,3', 'b: 2', 'a: 1,3']);
});

it('gathers values anew after the earlier ones are handled', async () => {
  const { gather, closeAll } = setUp();
  const first = gather('a', 1);
  closeAll();
  await first.result;
  const second = gather('a', 2);
  closeAll();
  expect(await second.result).toBe('a: 2');
});

it('rejects for every caller if handling fails', async () => {
  const gather = createGatherer(async () => Promise.reject(new Error('no response')), setImmediate);
  await expect(Promise.all([gather('a', 1).result, gather('a', 2).result])).rejects.toThrow('no response');
});
