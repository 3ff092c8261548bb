import { describe, expect, inject, it } from 'vitest';
import { type Client, isLocal, newClient } from './support/api.ts';
import { inbox } from './support/pipeline.ts';

const { inbox_url: inboxUrl } = inject('stack');

const testWebhook = (client: Client, path: string) =>
  client.post('/test-notification', { type: 'webhook', details: { url: `${inboxUrl}/webhooks/${path}` } });

const received = async (tenant: string) => (await inbox()).find((sent) => 'tenant' in sent && sent.tenant === tenant);

describe.runIf(isLocal)('webhooks to the inbox of the local stack', () => {
  it('are verified with the credentials of their tenant, also after a rotation of the secret', async () => {
    const client = await newClient();
    expect((await testWebhook(client, client.tenant)).body).toMatchObject({ status: 'success' });
    expect(await received(client.tenant)).toMatchObject({ kind: 'webhook', verified: true, problems: [] });
    await client.post('/account/rotate-signing-secret');
    await testWebhook(client, client.tenant);
    expect(await received(client.tenant)).toMatchObject({ verified: true, problems: [] });
  });
});
