import { ScanCommand } from '@aws-sdk/lib-dynamodb';
import { describe, expect, it } from 'vitest';
import type { Client } from '../support/api.ts';
import { newAlarmEvent } from '../support/events.ts';
import { useFaultyStack } from './support.ts';

const harness = useFaultyStack({ verifyRecipients: 'true', smsCountries: '+1', escalateUnreached: 'contacts' });

let addresses = 0;
const newAddress = (): string => `person${++addresses}@example.com`;

/** Returns the texts that arrived at an address, however it is written, or phone number, oldest first. */
const arrived = async (address: string): Promise<string[]> =>
  (await harness.inbox())
    .filter((message) => 'to' in message && String(message.to).toLowerCase().includes(address))
    .map((message) => ('text' in message ? message.text : ''))
    .toReversed();

/** Returns the codes that arrived at an address or phone number, oldest first. */
const codesAt = async (address: string): Promise<string[]> =>
  (await arrived(address)).flatMap((text) => /^\d{6}(?= is your)/.exec(text)?.[0] ?? []);

const newestCode = async (address: string): Promise<string> => (await codesAt(address)).at(-1) ?? '';

const emailTo = (address: string) => ({ label: 'On call', type: 'email', details: { address } });

const verify = async (client: Client, id: string, body: unknown) => {
  const response = await client.post(`/notifications/${id}/verify`, body);
  return [response.status, Object(response.body).details ?? response.body];
};

const otherThan = (code: string): string => String((Number(code) + 1) % 1_000_000).padStart(6, '0');

describe('the recipient of a new notification', () => {
  it('gets a code, and alerts only after somebody with access to the account has entered it', async () => {
    const client = await harness.newClient();
    const [address, contact] = [newAddress(), newAddress()];
    const id = await client.create(emailTo(address));
    expect((await client.get(`/notifications/${id}`)).body).toEqual({ id, ...emailTo(address), verified: false });
    await client.put('/account', { technical_contacts: [contact] });
    await client.post('/account/verify', { address: contact, code: await newestCode(contact) });

    const event = newAlarmEvent(client.tenant, [id]);
    await harness.sendEvents([event]);
    await harness.advanceUntil(harness.endedDeliveries(client.tenant, id, 1));
    expect((await client.get(`/notifications/${id}/deliveries`)).body).toMatchObject({
      values: [{ status: 'failed', reason: 'unverified', attempts: [] }],
    });
    await harness.drainQueue('Delivery-technicalContactsEmail');
    expect((await arrived(contact)).filter((text) => text.includes('the recipient is not verified'))).not.toEqual([]);
    expect((await client.post(`/notifications/${id}/test`)).body).toEqual({
      status: 'failure',
      message: 'Not sent: the recipient is not verified',
    });
    expect(await arrived(address)).toHaveLength(1);

    const code = await newestCode(address);
    expect(await verify(client, id, { code: otherThan(code) })).toEqual([
      400,
      'code: is not the newest code of this recipient; tries left: 9',
    ]);
    expect(await verify(client, id, { code })).toEqual([200, { verified: true }]);
    expect(await verify(client, id, { code: otherThan(code) })).toEqual([200, { verified: true }]);
    expect((await client.get(`/notifications?id=${id}`)).body).toMatchObject({ values: [{ verified: true }] });
    await client.post(`/notifications/${id}/redeliver`, { event_id: event.event_id });
    await harness.drainQueue('Delivery-email');
    expect(await arrived(address)).toHaveLength(2);
  });

  it('is verified once for the account, and for no other one', async () => {
    const [client, other] = [await harness.newClient(), await harness.newClient()];
    const address = newAddress();
    const id = await client.create(emailTo(address));
    await verify(client, id, { code: await newestCode(address) });
    const second = await client.create(emailTo(address.toUpperCase()));
    const response = await harness.call('POST', '/notifications', {
      token: client.token,
      headers: { prefer: 'return=representation' },
      body: emailTo(address),
    });
    expect(response.body).toMatchObject({ verified: true });
    expect((await client.get(`/notifications/${second}`)).body).toMatchObject({ verified: true });
    expect((await client.post('/test-notification', emailTo(address))).body).toMatchObject({ status: 'success' });
    expect(await codesAt(address)).toHaveLength(1);
    const foreign = await other.create(emailTo(address));
    expect((await other.get(`/notifications/${foreign}`)).body).toMatchObject({ verified: false });
    expect((await other.post('/test-notification', emailTo(address))).body).toMatchObject({ status: 'failure' });
  });

  it('of type SMS gets its code by SMS, if the country is allowed', async () => {
    const client = await harness.newClient();
    const [allowed, refused] = ['+12025550199', '+4915112345678'];
    const ids = [];
    for (const phone_number of [allowed, refused])
      ids.push(await client.create({ label: 'l', type: 'sms', details: { phone_number } }));
    const [id = '', refusedId = ''] = ids;
    expect(await verify(client, id, { code: await newestCode(allowed) })).toEqual([200, { verified: true }]);
    expect(await verify(client, refusedId, { resend: true })).toEqual([
      400,
      'resend: no code was sent: Texts to this country are not allowed',
    ]);
  });
});

describe('a change of the address', () => {
  it('needs a new code: that of the previous address verifies only that one', async () => {
    const client = await harness.newClient();
    const [first, second] = [newAddress(), newAddress()];
    const id = await client.create(emailTo(first));
    const shown = (await client.get(`/notifications/${id}`)).body;
    const strict = { token: client.token, headers: { prefer: 'handling=strict' } };
    expect(await harness.call('PUT', `/notifications/${id}`, { ...strict, body: shown })).toMatchObject({
      status: 204,
    });
    await client.put(`/notifications/${id}`, { details: { address: second } });
    const [old, code] = [await newestCode(first), await newestCode(second)];
    if (old !== code) expect(await verify(client, id, { code: old })).toMatchObject([400, /tries left: 9/]);
    await client.put(`/notifications/${id}`, { label: 'Renamed' });
    expect((await client.get(`/notifications/${id}`)).body).toMatchObject({ verified: false });
    expect(await verify(client, id, { code })).toEqual([200, { verified: true }]);
    await client.put(`/notifications/${id}`, { details: { address: first } });
    expect((await client.get(`/notifications/${id}`)).body).toMatchObject({ verified: false });
    expect(await codesAt(first)).toHaveLength(1);
  });
});

describe('the tries of a code', () => {
  it('end after ten, also if they come at once, and a new code has ten', async () => {
    const client = await harness.newClient();
    const address = newAddress();
    const id = await client.create(emailTo(address));
    const wrong = { code: otherThan(await newestCode(address)) };
    await Promise.all(Array.from({ length: 12 }, () => verify(client, id, wrong)));
    expect(await verify(client, id, { code: await newestCode(address) })).toEqual([
      400,
      'code: none is valid for this recipient; request a new one with {"resend":true}',
    ]);
    expect(await verify(client, id, { resend: true })).toEqual([200, { verified: false }]);
    expect(await verify(client, id, { code: await newestCode(address) })).toEqual([200, { verified: true }]);
  });

  it('end after 24 hours', async () => {
    const client = await harness.newClient();
    const address = newAddress();
    const id = await client.create(emailTo(address));
    await harness.stack.advance(86_400_000);
    expect(await verify(client, id, { code: await newestCode(address) })).toMatchObject([400, /none is valid/]);
  });
});

describe('the codes of an address', () => {
  it('are five in a UTC day, whichever accounts ask and however the address is written', async () => {
    await harness.stayWithinDay();
    const clients = [await harness.newClient(), await harness.newClient()] as const;
    const address = newAddress();
    const ids = [
      await clients[0].create(emailTo(address)),
      await clients[1].create(emailTo(address.toUpperCase())),
    ] as const;
    for (const index of [0, 1, 1] as const)
      expect(await verify(clients[index], ids[index], { resend: true })).toEqual([200, { verified: false }]);
    const tagged = await clients[1].create(emailTo(address.replace('@', '+tag@')));
    const response = await clients[1].post(`/notifications/${tagged}/verify`, { resend: true });
    expect(response).toMatchObject({ status: 429, body: { details: expect.stringContaining('at most 5 codes') } });
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(7_000);
    const codes = await codesAt(address);
    expect(codes).toHaveLength(5);
    expect(await verify(clients[0], ids[0], { code: codes[2] })).toEqual([200, { verified: true }]);
  });

  it('are sent again for the same new address only on request', async () => {
    const client = await harness.newClient();
    const address = newAddress();
    const headers = { 'idempotency-key': 'k' };
    for (const _ of [1, 2])
      await harness.call('POST', '/notifications', { token: client.token, headers, body: emailTo(address) });
    await client.create(emailTo(address));
    expect(await codesAt(address)).toHaveLength(1);
  });
});

it('a notification is created although its code cannot be sent, which a later request repairs', async () => {
  const client = await harness.newClient();
  const address = newAddress();
  const repair = harness.injectFault(
    { status: 400, type: 'AccountSendingPausedException', message: 'Paused' },
    ({ service }) => service === 'ses',
  );
  const id = await client.create(emailTo(address));
  expect(await verify(client, id, { resend: true })).toMatchObject([503, expect.any(String)]);
  repair();
  expect(await verify(client, id, { resend: true })).toEqual([200, { verified: false }]);
  expect(await verify(client, id, { code: await newestCode(address) })).toEqual([200, { verified: true }]);
});

it('notifications without a recipient are refused, and so are those of other accounts', async () => {
  const [client, other] = [await harness.newClient(), await harness.newClient()];
  const id = await client.create({ label: 'l', type: 'webhook', details: { url: 'https://example.com/' } });
  expect((await client.get(`/notifications/${id}`)).body).not.toHaveProperty('verified');
  expect(await verify(client, id, { code: '123456' })).toMatchObject([400, /only notifications of type email and sms/]);
  expect((await other.post(`/notifications/${id}/verify`, { code: '123456' })).status).toBe(404);
});

describe('a technical contact', () => {
  it('that is new gets a code, and emails only after it was entered', async () => {
    const client = await harness.newClient();
    const [first, second] = [newAddress(), newAddress()];
    await client.put('/account', { technical_contacts: [first] });
    const testContacts = () => client.post('/notifications/ntTechnicalContactsEmail/test');
    expect((await testContacts()).body).toMatchObject({ message: 'Not sent: the recipient is not verified' });
    const enter = async (address: string) =>
      client.post('/account/verify', { address, code: await newestCode(address) });
    expect((await enter(first)).body).toEqual({ verified: true });
    await client.put('/account', { technical_contacts: [first, second] });
    const account = await client.get('/account');
    expect(account.body).toMatchObject({ technical_contacts: [first, second], unverified_contacts: [second] });
    expect((await client.put('/account', account.body)).status).toBe(204);
    expect((await testContacts()).body).toMatchObject({ status: 'success' });
    expect([(await arrived(first)).length, (await arrived(second)).length]).toEqual([2, 1]);
    await enter(second);
    await testContacts();
    expect([(await arrived(first)).length, (await arrived(second)).length]).toEqual([3, 2]);
    expect((await client.get('/account')).body).toMatchObject({ unverified_contacts: [] });
    expect((await client.post('/account/verify', { address: newAddress(), resend: true })).body).toMatchObject({
      details: 'address: must be one of the technical_contacts',
    });
  });

  it('has a code each, up to the fifty of an account', async () => {
    const client = await harness.newClient();
    const contacts = Array.from({ length: 50 }, newAddress);
    expect((await client.put('/account', { technical_contacts: contacts })).status).toBe(204);
    expect(await Promise.all(contacts.map(async (contact) => (await codesAt(contact)).length))).toEqual(
      contacts.map(() => 1),
    );
  });
});

it('codes and addresses are in no log, audit entry or message, and codes in no item', async () => {
  const client = await harness.newClient();
  const address = newAddress();
  const id = await client.create(emailTo(address));
  await verify(client, id, { resend: true });
  const codes = await codesAt(address);
  await verify(client, id, { code: otherThan(codes.at(-1) ?? '') });
  await verify(client, id, { code: codes.at(-1) });
  const { text, body } = await client.get('/audits');
  expect(body).toMatchObject({
    values: expect.arrayContaining([
      expect.objectContaining({ action: 'verify-notification', target_id: id, changed: [] }),
    ]),
  });
  const accounts = await harness.documents.send(new ScanCommand({ TableName: harness.table('Accounts') }));
  const items = JSON.stringify(accounts.Items?.filter(({ pk }) => /^(recipient|codes)#/.test(pk)));
  // The events of SES name recipients.
  const ownQueues = [...harness.stack.queues].filter(([name]) => name !== 'EmailEvents-Queue');
  const queues = JSON.stringify(ownQueues.map(([, { messages }]) => messages));
  const logs = harness.lines.filter((line) => !line.includes('email to')).join('\n');
  for (const secret of [...codes.map((code) => `"${code}"`), address]) {
    for (const searched of [text, items, queues, logs]) expect(searched).not.toContain(secret);
  }
});
