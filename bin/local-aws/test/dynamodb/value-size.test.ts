import { expect, it } from 'vitest';
import { itemBytes } from '../../dynamodb/value-size.ts';

it.each([
  ['text in UTF-8 bytes', { pk: { S: 'Grüße' } }, 2 + 7],
  ['a name in UTF-8 bytes', { ä: { S: '' } }, 2],
  ['binary values in decoded bytes', { b: { B: Buffer.alloc(300).toString('base64') } }, 1 + 300],
  ['a number by its significant digits', { n: { N: '1764000000000' } }, 1 + 3],
  ['a negative number with an additional byte', { n: { N: '-12.5' } }, 1 + 4],
  ['a boolean and a null as one byte each', { t: { BOOL: true }, u: { NULL: true } }, 4],
  ['a set by its elements', { s: { SS: ['ab', 'c'] } }, 1 + 3],
  ['a list with its overhead', { l: { L: [{ S: 'ab' }, { N: '1' }] } }, 1 + 3 + (2 + 1) + (2 + 1)],
  ['a map with its overhead', { m: { M: { key: { S: 'value' } } } }, 1 + 3 + (3 + 5) + 1],
])('the size of an item counts %s', (_, item, bytes) => {
  expect(itemBytes(item)).toBe(bytes);
});
