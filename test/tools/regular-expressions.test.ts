import { expect, it } from 'vitest';
import { findExpressions, isLinear } from '../checks/regular-expressions.ts';

it('the check finds literals and created expressions, also in JSX', () => {
  const source = 'const page = <p title={/a+/.source}>{new RegExp(x).source}</p>; // /no/';
  expect(findExpressions(source, true)).toEqual([{ pattern: 'a+', flags: '' }, { code: 'new RegExp(x)' }]);
});

it.each([
  ['^(a+)+$', false],
  ['^[ \\t]+|[ \\t]+$', false],
  ['^[a-z]{1,9}$', true],
])('the check tells whether the time of /%s/ is linear', async (pattern, expected) => {
  expect(await isLinear(pattern, 'u')).toBe(expected);
});
