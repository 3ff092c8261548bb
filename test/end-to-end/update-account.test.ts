import { describe, expect, it } from 'vitest';
import { type Client, newClient, newTenant } from './support/api.ts';

const read = async (client: Client) => (await client.get('/account')).body;

describe('updating the account', () => {
  it('changes the given fields and keeps the others', async () => {
    const client = await newClient();
    const contacts = { technical_contacts: ['a@example.com', 'b@example.com'] };
    const response = await client.put('/account', contacts);
    expect([response.status, response.text]).toEqual([204, '']);
    expect(await read(client)).toMatchObject(contacts);
    const token = { webhook_token: '!-token-of-64~'.padEnd(64, 'x') };
    expect((await client.put('/account', token)).status).toBe(204);
    expect(await read(client)).toMatchObject({ ...contacts, ...token });
    await client.put('/account', { technical_contacts: ['c@example.com'], webhook_token: '0123456789' });
    expect(await read(client)).toMatchObject({ technical_contacts: ['c@example.com'], webhook_token: '0123456789' });
  });

  it('removes duplicate contacts and keeps their order', async () => {
    const client = await newClient();
    await client.put('/account', { technical_contacts: ['b@example.com', 'a@example.com', 'b@example.com'] });
    expect(await read(client)).toMatchObject({ technical_contacts: ['b@example.com', 'a@example.com'] });
  });

  it('accepts no contacts, and 50', async () => {
    const client = await newClient();
    for (const count of [50, 0]) {
      const technical_contacts = Array.from({ length: count }, (_, index) => `c${index}@example.com`);
      expect((await client.put('/account', { technical_contacts })).status).toBe(204);
      expect(await read(client)).toMatchObject({ technical_contacts });
    }
  });

  it.each([{}, { technical_contacts: null, webhook_token: null }, { id: 'another', limits: { tokens: 1 } }])(
    'changes nothing without its fields: %j',
    async (body) => {
      const client = await newClient();
      await client.put('/account', { technical_contacts: ['a@example.com'] });
      const before = await read(client);
      expect((await client.put('/account', body)).status).toBe(204);
      expect(await read(client)).toEqual(before);
    },
  );

  const CONTACTS_RULE = 'technical_contacts: must be a list of 0 to 50 email addresses';
  const TOKEN_RULE = 'webhook_token: must be 10 to 64 printable ASCII characters without spaces';
  const addressRule = (index: number) =>
    `technical_contacts.${index}: must be an email address of at most 254 characters`;

  it.each([
    ['contacts that are no list', { technical_contacts: 'a@example.com' }, CONTACTS_RULE],
    ['51 contacts', { technical_contacts: Array.from({ length: 51 }, (_, i) => `c${i}@example.com`) }, CONTACTS_RULE],
    ['an invalid address', { technical_contacts: ['a@example.com', 'invalid'] }, addressRule(1)],
    ['an address without a dot in its domain', { technical_contacts: ['a@localhost'] }, addressRule(0)],
    ['an address of 255 characters', { technical_contacts: [`a@${'x.'.repeat(125)}org`] }, addressRule(0)],
    ['a contact that is null', { technical_contacts: [null] }, addressRule(0)],
    ['a contact with a line break', { technical_contacts: ['a@example.com\r\nBcc: b@example.com'] }, addressRule(0)],
    ['a short token', { webhook_token: 'secret789' }, TOKEN_RULE],
    ['a long token', { webhook_token: 'secret'.padEnd(65, 'x') }, TOKEN_RULE],
    ['a token with a space', { webhook_token: 'secret 7890' }, TOKEN_RULE],
    ['a token with a line break', { webhook_token: 'secret7890\n' }, TOKEN_RULE],
    ['a token outside ASCII', { webhook_token: 'secret789é' }, TOKEN_RULE],
    ['a token that is a number', { webhook_token: 1_234_567_890 }, TOKEN_RULE],
    ['two invalid fields', { technical_contacts: {}, webhook_token: 'secret' }, `${CONTACTS_RULE}; ${TOKEN_RULE}`],
  ])('rejects %s, naming field and rule but not the value, and changes nothing', async (_, body, details) => {
    const client = await newClient();
    const before = await read(client);
    const response = await client.put('/account', { technical_contacts: ['valid@example.com'], ...body });
    expect(response.status).toBe(400);
    expect(response.body).toMatchObject({ type: 'badRequest', code: 400, details });
    expect(response.text).not.toMatch(/secret/);
    expect(await read(client)).toEqual(before);
  });

  it.each(['', '{not json', '7', '[]', 'null', '"text"'])(
    'rejects a body that is not a JSON object: %s',
    async (body) => {
      expect((await (await newClient()).put('/account', body)).status).toBe(400);
    },
  );

  it('applies all concurrent updates of different fields', async () => {
    const tenant = newTenant();
    const [first, second] = [await newClient('admin', tenant), await newClient('admin', tenant)];
    for (let round = 0; round < 5; round++) {
      const contacts = { technical_contacts: [`c${round}@example.com`] };
      const token = { webhook_token: `0123456789${round}` };
      const responses = await Promise.all([first.put('/account', contacts), second.put('/account', token)]);
      expect(responses.map(({ status }) => status)).toEqual([204, 204]);
      expect(await read(first)).toMatchObject({ ...contacts, ...token });
    }
  });

  it('never mixes the fields of concurrent updates', async () => {
    const client = await newClient();
    const bodies = Array.from({ length: 6 }, (_, index) => ({
      technical_contacts: [`c${index}@example.com`],
      webhook_token: `0123456789${index}`,
    }));
    const statuses = (await Promise.all(bodies.map((body) => client.put('/account', body)))).map(
      ({ status }) => status,
    );
    expect(statuses).toEqual(bodies.map(() => 204));
    const { technical_contacts, webhook_token } = Object(await read(client));
    expect(bodies).toContainEqual({ technical_contacts, webhook_token });
  });

  it('changes the account of the caller only', async () => {
    const [first, second] = [await newClient(), await newClient()];
    await first.put('/account', { technical_contacts: ['first@example.com'], id: second.tenant });
    expect(await read(second)).toMatchObject({ technical_contacts: [] });
  });

  it('is refused to creators and observers', async () => {
    const admin = await newClient();
    for (const role of ['creator', 'observer'] as const) {
      const client = await newClient(role, admin.tenant);
      const { status, body } = await client.put('/account', { technical_contacts: ['x@example.com'] });
      expect(status).toBe(403);
      expect(body).toMatchObject({ details: `X-Auth-Token: a token of role ${role} may not administer the account` });
    }
    expect(await read(admin)).toMatchObject({ technical_contacts: [] });
  });
});
