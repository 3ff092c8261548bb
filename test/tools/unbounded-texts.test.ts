import { expect, it } from 'vitest';
import { findUnboundedTexts } from '../checks/unbounded-texts.ts';

it.each([
  'z.string().check(z.regex(/a/))',
  'z.string(rule).check(z.maxLength(9), z.refine(isValid))',
  'z.string().check(z.maxLength(9)).check(z.trim())',
  'z.email()',
  'z.iso.datetime()',
])('the check finds what reads a text of any length: %s', (code) => {
  expect(findUnboundedTexts(`const schema = z.object({ field: z.optional(${code}) });`)).toEqual([code]);
});

it.each([
  'z.string().check(z.minLength(1), z.maxLength(9))',
  'boundedText({ max: 9 }, z.regex(/a/), z.email())',
  'z.number().check(z.refine(isWhole))',
  'allowedBy(() => z.e164())',
  'z.array(z.string()).check(z.refine(({ length }) => length < 9))',
])('the check accepts what reads only short texts, or no text: %s', (code) => {
  expect(findUnboundedTexts(`const schema = z.object({ field: ${code} });`)).toEqual([]);
});
