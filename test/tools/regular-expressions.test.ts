import { expect, it } from 'vitest';
import { findExpressions, isLinear } from '../checks/regular-expressions.ts';

it('the check finds literals and created expressions, also in JSX', () => {
  const source = 'const page = <p title={/a+/.source}>{new RegExp(x).source}{RegExp(y).source}</p>; // /no/';
  expect(findExpressions(source, true)).toEqual([
    { pattern: 'a+', flags: '' },
    { code: 'new RegExp(x)' },
    { code: 'RegExp(y)' },
  ]);
});

it.each([
  ['^(a+)+$', false],
  ['^[ \\t]+|[ \\t]+$', false],
  ['^[a-z]{1,256}$', true],
  // The fuzzer of recheck finds nothing here, which is no proof.
  ['^(?!a)[a-z]+$', false],
])('the check tells whether the time of /%s/ is proved to be linear', async (pattern, expected) => {
  expect(await isLinear(pattern, 'u')).toBe(expected);
});
