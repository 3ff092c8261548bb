import { Readable } from 'node:stream';
import { expect, it } from 'vitest';
import { collectBody } from '../../shared/adapters/collect-body.ts';

it('the body of an AWS response is complete if it arrives in parts', async () => {
  const body = Readable.from([Buffer.from('{"Item"'), Buffer.from(':{}}')]);
  expect(Buffer.from(await collectBody(body)).toString()).toBe('{"Item":{}}');
});

it('the body of an AWS response that breaks off is an error', async () => {
  const body = new Readable({ read: () => undefined });
  body.push('{"Item"');
  setImmediate(() => body.destroy(new Error('broken off')));
  await expect(collectBody(body)).rejects.toThrow('broken off');
});
