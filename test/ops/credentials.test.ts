import { readdirSync } from 'node:fs';
import { PutCommand } from '@aws-sdk/lib-dynamodb';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { limitNames } from '../../shared/contracts/tenant-limits.ts';
import { connectTables, useStackWithCommandLine } from './command-line.ts';

const { stack, directory, ops, runJson } = useStackWithCommandLine();

const statusWith = async (token: string): Promise<number> =>
  (await fetch(`${stack.base_url}/notifications`, { headers: { 'x-auth-token': token } })).status;

/** The fields of a token are those of the API. */
const created = z.strictObject({
  id: z.string(),
  token: z.string(),
  role: z.string(),
  label: z.string(),
  expires_at: z.number(),
});
const create = (tenant: string, label: string) =>
  runJson(created, `token create --tenant ${tenant} --role admin --label ${label} --new`);

describe('token', () => {
  it('issues a valid token on standard output, and describes it on standard error', async () => {
    const { code, out, err } = await ops([...'token create --tenant t1 --role admin --new --label'.split(' '), 'a b']);
    expect([code, out]).toEqual([0, expect.stringMatching(/^mnt_\w{49}\n$/)]);
    expect(err).toMatch(
      /^Target: local stack .*\nToken tk[0-9A-Z]{26}: admin of tenant t1, expires \d{4}-.*Z\. It is not shown again\.\n$/,
    );
    expect(await statusWith(out.trim())).toBe(200);
  });

  it('issues a token that expires after --days', async () => {
    const { expires_at } = await runJson(created, 'token create --tenant t2 --role observer --label x --days 3 --new');
    const days = (expires_at - Date.now()) / 86_400_000;
    expect(days).toBeGreaterThan(2.99);
    expect(days).toBeLessThanOrEqual(3.01);
  });

  it('lists the tokens of the tenant as the API does, without secrets and control characters', async () => {
    const { id, token } = await create('t3', 'one');
    await ops(['token', 'create', '--tenant', 't3', '--role', 'admin', '--label', 'a\u001b[2Jb']);
    await create('t3x', 'other');
    const response = await fetch(`${stack.base_url}/tokens`, { headers: { 'x-auth-token': token } });
    const { values } = z.object({ values: z.array(z.unknown()) }).parse(await response.json());
    expect(await runJson(z.array(z.unknown()), 'token list --tenant t3')).toEqual(values);
    const { out } = await ops('token list --tenant t3');
    expect(out).toMatch(/^id +role +issuer +created +expires +label\n/);
    expect(out).toContain(`${id}  admin`);
    expect(out).toContain('a\u{fffd}[2Jb');
    expect(out).not.toContain(token);
  });

  it('revokes a token, even the last one of an admin', async () => {
    const { id, token } = await create('t5', 'gone');
    await create('t7', 'other');
    const unknown = await ops(`token revoke ${id} --tenant t7 --issued-since none`);
    expect([unknown.code, unknown.err.split('\n')[1]]).toEqual([
      1,
      `Tenant t7 has no token ${id}: see "token list --tenant t7".`,
    ]);
    expect((await ops('token list --tenant t5')).out).toContain(id);
    const unsure = await ops(`token revoke ${id} --tenant t5`);
    expect([unsure.code, unsure.err]).toEqual([
      2,
      expect.stringMatching(/^Whoever had the token may have issued others/),
    ]);
    const revoked = await ops(`token revoke ${id} --tenant t5 --issued-since none`);
    expect(revoked).toMatchObject({ code: 0, out: `Revoked token ${id} of tenant t5 (gone).\n` });
    expect(await statusWith(token)).toBe(401);
    expect((await ops('token list --tenant t5')).out).toBe('Tenant t5 has no tokens.\n');
  });

  it('is found by its secret on standard input', async () => {
    const { id, token } = await create('t4', 'pasted');
    const found = `Token ${id} of tenant t4 (admin, pasted).\n`;
    expect(await ops('token find', { input: `${token}\n` })).toEqual({ code: 0, out: found, err: '' });
    expect(await ops('token find', { input: `${token}x` })).toMatchObject({ code: 1, out: '' });
  });
});

it('token revoke --all revokes all tokens of the tenant, and no others', async () => {
  const [first, second, other] = [await create('t8', 'a'), await create('t8', 'b'), await create('t8x', 'c')];
  expect(await ops('token revoke --all --tenant t8')).toMatchObject({
    code: 0,
    out: `Revoked token ${first.id} of tenant t8 (a).\nRevoked token ${second.id} of tenant t8 (b).\n`,
  });
  const tokens = [first, second, other].map(({ token }) => statusWith(token));
  expect(await Promise.all(tokens)).toEqual([401, 401, 200]);
  expect(await ops('token revoke --all --tenant t8')).toMatchObject({ code: 0, out: 'Tenant t8 has no tokens.\n' });
});

describe('a tenant of which nothing is stored', () => {
  const missing = 'Tenant t10 does not exist: check its name, as "tenants" lists it';

  it.each([
    ['token create --tenant t10 --role admin --label x', ', or pass --new.'],
    ['token list --tenant t10', '.'],
    ['token revoke --all --tenant t10', '.'],
    ['account show t10', '.'],
    ['account limits t10', ', or pass --new.'],
    ['account shadow t10 on --for 1h --yes', ', or pass --new.'],
    ['account recount t10', '.'],
    ['account rotate t10 --yes', '.'],
    ['deliveries --tenant t10', '.'],
    ['deliveries --tenant t10 --retry-now', '.'],
    ['audits t10', '.'],
    ['opt-outs list t10', '.'],
    ['opt-outs undo t10 jo@example.com', '.'],
    ['dead-letters list sms --tenant t10', '.'],
    ['dead-letters redrive sms --tenant t10', '.'],
    ['dead-letters purge sms --tenant t10 --yes', '.'],
    ['event trace e1 --tenant t10', '.'],
    ['tenant export t10 --out t10.jsonl', '.'],
  ])('may be misspelled: %s', async (command, end) => {
    const { code, out, err } = await ops(command);
    expect([code, out, err.replace(/^Target: .*\n/, '')]).toEqual([1, '', `${missing}${end}\n`]);
  });
});

describe('account', () => {
  it('shows an empty account without creating credentials, and secrets only with --secrets', async () => {
    const account = z.looseObject({ webhook_token: z.string(), webhook_signing_secrets: z.array(z.string()) });
    const empty = { id: 'a1', technical_contacts: [], time_zone: 'UTC' };
    const { token } = await create('a1', 'a');
    expect(await runJson(z.unknown(), 'account show a1 --secrets')).toEqual({ ...empty, webhook_signing_secrets: [] });
    expect((await ops('account show a1')).out).toMatch(
      /^contacts +none\ntime zone +UTC\nwebhook token +none yet.*\nsigning secret +none/,
    );
    const headers = { 'x-auth-token': token };
    await fetch(`${stack.base_url}/account/rotate-signing-secret`, { method: 'POST', headers });
    await fetch(`${stack.base_url}/account/rotate-signing-secret`, { method: 'POST', headers });
    const { webhook_token, webhook_signing_secrets } = account.parse(
      await (await fetch(`${stack.base_url}/account`, { headers })).json(),
    );
    expect(await runJson(account, 'account show a1 --secrets')).toEqual({
      ...empty,
      webhook_token,
      webhook_signing_secrets,
    });
    expect(await runJson(z.unknown(), 'account show a1')).toEqual(empty);
    expect((await ops('account show a1')).out).toMatch(
      /\nwebhook token +set\nsigning secret +set\nprevious secret +set, signs until .*Z\n$/,
    );
  });

  it('overrides limits until the setting is restored, and shows those in effect', async () => {
    const shown = z.strictObject({
      tenant_id: z.string(),
      limits: z.record(z.enum(limitNames), z.number()),
      limit_overrides: z.partialRecord(z.enum(limitNames), z.number()),
    });
    await create('a6', 'a');
    const { limits, limit_overrides } = await runJson(shown, 'account limits a6');
    expect([limits.notificationsPerTenant, limits.smsPerTenantPerDay, limit_overrides]).toEqual([1_000, 1_000, {}]);
    const { out } = await ops('account limits a6 notificationsPerTenant=5000 smsPerTenantPerDay=0');
    expect(out).toMatch(/^limit +value +setting\nnotificationsPerTenant +5000 +1000 +overridden\n/);
    const { code, err } = await ops('account limits a6 notificationsPerTenant=default');
    expect([code, err]).toEqual([0, expect.stringMatching(/\nThe service uses the limits within a minute\.\n$/)]);
    expect(await runJson(shown, 'account limits a6')).toEqual({
      tenant_id: 'a6',
      limits: { ...limits, smsPerTenantPerDay: 0 },
      limit_overrides: { smsPerTenantPerDay: 0 },
    });
  });

  it('turns shadow mode on and off, and shows it while it is on', async () => {
    expect(await runJson(z.unknown(), 'account shadow a7 on --for 1h --new --yes')).toEqual({
      tenant_id: 'a7',
      shadow: { from: expect.any(Number), until: expect.any(Number) },
    });
    expect((await ops('account show a7')).out).toMatch(/\nshadow mode +on: alerts of events that SQS accepts from /);
    const { code, out } = await ops('account shadow a7 off');
    expect([code, out]).toEqual([0, expect.stringMatching(/^off: .* are sent\n$/)]);
    expect((await ops('account show a7')).out).not.toContain('shadow');
  });

  it('counts the notifications of a restored table', async () => {
    const { database, tableNamed } = await connectTables(stack);
    const tenant = stack.tenants.admin;
    const Item = { pk: `quota#${tenant}`, sk: 'notifications', used: 7, changes: 9 };
    await database.send(new PutCommand({ TableName: tableNamed('Notifications'), Item }));
    database.destroy();
    expect(await ops(`account recount ${tenant}`)).toMatchObject({ code: 0, out: '0 instead of 7\n' });
    expect(await runJson(z.unknown(), `account recount ${tenant}`)).toEqual({ tenant_id: tenant, before: 0, after: 0 });
    expect(await ops(`account recount ${tenant}`)).toMatchObject({ code: 0, out: '0, as counted\n' });
  });

  it.each([
    ['limits a5 sms=5', new RegExp(`and the names are ${limitNames.join(', ')}\\.\n$`)],
    ['limits a5 smsPerTenantPerDay', /A change is name=value or name=default, /],
    ['limits a5 smsPerTenantPerDay=-1', /smsPerTenantPerDay must be a whole number from 0 to 9007199254740991,/],
    ['limits a5 smsPerTenantPerDay=', /smsPerTenantPerDay must be a whole number from 0 to /],
    ['limits a5 notificationsPerTenant=0', /notificationsPerTenant must be a whole number from 1 to /],
    ['shadow a5 on --at tomorrow', /It must be a time such as 2026-12-01T10:00Z\.\n$/],
  ])('rejects %s', async (command, message) => {
    expect(await ops(`account ${command}`)).toEqual({ code: 2, out: '', err: expect.stringMatching(message) });
  });
});

it('a local stack is found while it runs, and leaves no file behind', async () => {
  const files = () => readdirSync(directory.path).filter((name) => name.endsWith('.json'));
  expect(files()).toHaveLength(1);
  await stack.stop();
  expect(files()).toEqual([]);
  expect(await ops('token list --tenant t1')).toMatchObject({
    code: 1,
    err: expect.stringMatching(/^No local stack runs/),
  });
});
