import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { packBatches } from '../../shared/adapters/queues.ts';

const MIB = 1_048_576;

const bytes = (messages: { body: string; group: string }[]): number =>
  messages.reduce((sum, { body, group }) => sum + Buffer.byteLength(body) + Buffer.byteLength(group), 0);

/** Small messages and large ones, of one and of four bytes a character. */
const message = fc
  .tuple(
    fc.constantFrom('x', '😀'),
    fc.oneof({ weight: 3, arbitrary: fc.nat(500) }, { weight: 2, arbitrary: fc.nat(250_000) }),
    fc.stringMatching(/^[a-z#]{1,128}$/),
  )
  .map(([letter, length, group]) => ({ body: letter.repeat(length), group }));

describe('messages for a queue', () => {
  it('go out in batches of at most 10 and at most 1 MiB, in order, none lost and none empty', () => {
    fc.assert(
      fc.property(fc.array(message, { maxLength: 40 }), (messages) => {
        const packed = packBatches(messages);
        expect(packed.flat().map((one) => messages.indexOf(one))).toEqual(messages.map((_, index) => index));
        for (const batch of packed) {
          expect(batch.length).toBeGreaterThan(0);
          expect(batch.length).toBeLessThanOrEqual(10);
          expect(bytes(batch)).toBeLessThanOrEqual(MIB);
        }
      }),
    );
  });

  it('go out in as few batches as their number and their size allow in this order', () => {
    fc.assert(
      fc.property(fc.array(message, { maxLength: 40 }), (messages) => {
        const packed = packBatches(messages);
        for (const [index, batch] of packed.slice(0, -1).entries()) {
          const isFull = batch.length === 10 || bytes([...batch, ...(packed[index + 1] ?? []).slice(0, 1)]) > MIB;
          expect(isFull).toBe(true);
        }
      }),
    );
  });

  it('fill a batch to the last byte', () => {
    const half = { body: 'x'.repeat(MIB / 2 - 4), group: 'acme' };
    expect(packBatches([half, half])).toHaveLength(1);
    expect(packBatches([half, { ...half, group: 'acme2' }])).toHaveLength(2);
  });

  it('are none where there are none', () => {
    expect(packBatches([])).toEqual([]);
  });
});
