import { describe, expect, it } from 'vitest';
import { newClient, webhook } from './support/api.ts';

describe('deleting the signing secret of a webhook', () => {
  it('returns 204, also if there is none, and 404 for the webhook of another tenant', async () => {
    const [client, other] = [await newClient(), await newClient()];
    const id = await client.create(webhook);
    const path = `/notifications/${id}/signing-secret`;
    await client.post(path);
    const responses = [await client.delete(path), await client.delete(path), await other.delete(path)];
    expect(responses.map(({ status }) => status)).toEqual([204, 204, 404]);
  });
});
