import { expect, it } from 'vitest';
import { newClient, webhook } from './support/api.ts';

const UNKNOWN_ID = 'nt01ARZ3NDEKTSV4RRFFQ69G5FAV';

it('a notification does not exist for another tenant, whose response is that for an unknown ID', async () => {
  const [owner, other] = [await newClient(), await newClient()];
  const path = `/notifications/${await owner.create(webhook)}`;
  const responses = [await other.get(path), await other.put(path, {}), await other.delete(path)];
  expect(responses.map(({ status }) => status)).toEqual([404, 404, 404]);
  const unknown = await other.get(`/notifications/${UNKNOWN_ID}`);
  expect({ ...Object(responses[0]?.body), request_id: '' }).toEqual({ ...Object(unknown.body), request_id: '' });
  expect((await owner.get(path)).status).toBe(200);
});
