import { describe, expect, it, vi } from 'vitest';
import { takePage } from '../../shared/api/paging.ts';
import { assertFitsResponse, locationResponse, noContent, ok } from '../../shared/api/response.ts';
import { entries, webhookNotification } from '../support/notifications.ts';

const LAMBDA_LIMIT = 6 * 1024 * 1024;

const records = (texts: string[]) => texts.map((text, index) => ({ id: `nt${index}`, text }));
const page = async (texts: string[], limit = 50) => {
  const { values, next } = await takePage(records(texts), limit);
  return { ids: values.map(({ id }) => id), next };
};
/** The bytes of an answer as Lambda sends it: JSON inside of JSON. */
const sent = (answer: unknown): number => Buffer.byteLength(JSON.stringify(answer));

describe('an answer', () => {
  it('with a body is JSON', () => {
    expect(ok({ a: 1 })).toEqual({ statusCode: 200, headers: { 'content-type': 'application/json' }, body: '{"a":1}' });
  });

  it('without a body has none, and no content type', () => {
    expect(locationResponse(201, 'https://a.example/nt1')).toEqual({
      statusCode: 201,
      headers: { location: 'https://a.example/nt1' },
    });
    expect(noContent).toEqual({ statusCode: 204 });
  });
});

describe('a page', () => {
  it('holds at most its limit, and says where the next one starts', async () => {
    expect(await page(['a', 'b', 'c'], 2)).toEqual({ ids: ['nt0', 'nt1'], next: 'nt2' });
  });

  it('is the last one where nothing is left', async () => {
    expect(await page(['a', 'b'], 2)).toEqual({ ids: ['nt0', 'nt1'], next: null });
    expect(await page(['a'], 2)).toEqual({ ids: ['nt0'], next: null });
    expect(await page([], 2)).toEqual({ ids: [], next: null });
  });

  it('is shorter where the answer would burst', async () => {
    const megabyte = 'x'.repeat(1_000_000);
    expect(await page(Array.from({ length: 8 }, () => megabyte))).toEqual({
      ids: ['nt0', 'nt1', 'nt2', 'nt3', 'nt4'],
      next: 'nt5',
    });
  });

  it.each([
    ['plain', 'x'],
    ['of four bytes', '😀'],
    ['quoted twice', '"'],
    ['escaped', '\u0001'],
    ['line breaks', '\n'],
  ])('fits into what a Lambda may answer, whatever its characters are: %s', async (_, character) => {
    const texts = Array.from({ length: 60 }, () => character.repeat(100_000));
    const { values } = await takePage(records(texts), 1_000);
    expect(values.length).toBeGreaterThan(0);
    expect(sent(ok({ values, metadata: {} }))).toBeLessThan(LAMBDA_LIMIT);
  });

  it('holds one record even where that alone is too much', async () => {
    expect(await page(['x'.repeat(7_000_000), 'b'])).toEqual({ ids: ['nt0'], next: 'nt1' });
  });

  it('takes no more records than it needs, and lets go of the rest', async () => {
    const taken: number[] = [];
    const letGo = vi.fn();
    async function* endless() {
      try {
        for (let count = 0; ; count++) {
          taken.push(count);
          yield { id: `nt${count}` };
        }
      } finally {
        letGo();
      }
    }
    await takePage(endless(), 3);
    expect(taken).toEqual([0, 1, 2, 3]);
    expect(letGo).toHaveBeenCalledTimes(1);
  });
});

describe('a notification that is given', () => {
  const withDetails = (count: number, value: string) => webhookNotification({ details: entries(count, value) });

  it('is taken up to the limits of the interface', () => {
    const largest = {
      ...withDetails(256, '😀'.repeat(4096)),
      label: '😀'.repeat(255),
      metadata: entries(256, '😀'.repeat(255)),
    };
    expect(() => assertFitsResponse(largest)).not.toThrow();
    expect(sent(ok({ id: 'nt'.padEnd(28, '0'), ...largest }))).toBeLessThan(LAMBDA_LIMIT);
  });

  it('is refused with 413 where nobody could ever read it', () => {
    expect(() => assertFitsResponse(withDetails(256, '\u0001'.repeat(4096)))).toThrow(
      expect.objectContaining({ type: 'requestTooLargeError' }),
    );
  });
});
