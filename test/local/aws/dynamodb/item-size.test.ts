import { expect, it } from 'vitest';
import { itemBytes } from '../../../../bin/local/aws/dynamodb/item-size.ts';

it.each([
  ['text, in bytes of UTF-8', { pk: { S: 'Grüße' } }, 2 + 7],
  ['the name, in bytes of UTF-8', { ä: { S: '' } }, 2],
  ['binary, in bytes and not in base64', { b: { B: Buffer.alloc(300).toString('base64') } }, 1 + 300],
  ['a number, by its significant digits', { n: { N: '1764000000000' } }, 1 + 3],
  ['a negative number, by a byte more', { n: { N: '-12.5' } }, 1 + 4],
  ['a boolean and a null, one byte each', { t: { BOOL: true }, u: { NULL: true } }, 4],
  ['a set, by its elements', { s: { SS: ['ab', 'c'] }, n: { NS: ['1', '22'] } }, 1 + 3 + 1 + 4],
  ['a list, with its overhead', { l: { L: [{ S: 'ab' }, { N: '1' }] } }, 1 + 3 + (2 + 1) + (2 + 1)],
  ['a map, with its overhead', { m: { M: { key: { S: 'value' } } } }, 1 + 3 + (3 + 5) + 1],
])('measures %s', (_, item, bytes) => {
  expect(itemBytes(item)).toBe(bytes);
});
