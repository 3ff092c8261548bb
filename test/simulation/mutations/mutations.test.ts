import { transformSync } from 'esbuild';
import { expect, test } from 'vitest';
import { type Mutation, mutatedText } from '../engine/service-code.ts';
import { mutations } from './mutations.ts';

/** Returns why the mutated files cannot be built, if so. */
const problemOf = (changes: readonly Mutation[]): string | undefined => {
  try {
    for (const { file } of changes) transformSync(mutatedText(file, changes), { loader: 'ts' });
    return undefined;
  } catch (error) {
    return String(error);
  }
};

test('every mutation changes one place of the present source, and compiles', () => {
  const problems = mutations.flatMap(({ name, changes }) => {
    const problem = changes.length === 0 ? 'no changes' : problemOf(changes);
    return problem === undefined ? [] : [`${name}: ${problem}`];
  });

  expect(problems).toEqual([]);
});

test('no two mutations have the same name', () => {
  const names = mutations.map(({ name }) => name);

  expect(new Set(names).size).toBe(names.length);
});
