import fc from 'fast-check';
import { expect, it } from 'vitest';
import { batches } from '../../shared/domain/batches.ts';

it('a list is cut into lists of at most so many, none empty, nothing lost, in order', () => {
  fc.assert(
    fc.property(fc.array(fc.integer()), fc.integer({ min: 1, max: 30 }), (items, size) => {
      const cut = batches(items, size);
      expect(cut.flat()).toEqual(items);
      for (const batch of cut.slice(0, -1)) expect(batch).toHaveLength(size);
      expect(cut.at(-1)?.length ?? 1).toBeGreaterThan(0);
    }),
  );
});
