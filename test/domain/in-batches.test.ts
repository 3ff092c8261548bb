import fc from 'fast-check';
import { expect, it } from 'vitest';
import { inBatches } from '../../shared/domain/in-batches.ts';
import { forAll } from '../support/quick-run.ts';

it('inBatches splits any list in order into full batches and a last batch that is not empty', () => {
  forAll()(fc.array(fc.integer()), fc.integer({ min: 1, max: 30 }), (items, size) => {
    const split = inBatches(items, size);
    expect(split.flat()).toEqual(items);
    for (const batch of split.slice(0, -1)) expect(batch).toHaveLength(size);
    expect(split.at(-1)?.length ?? 1).toBeGreaterThan(0);
  });
});
