import { readdirSync } from 'node:fs';
import { DynamoDBClient, ListTablesCommand, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { limitNames } from '../../shared/contracts/tenant-limits.ts';
import { until } from '../support/until.ts';
import { useStackWithCommandLine } from './command-line.ts';

const { stack, directory, ops, runJson } = useStackWithCommandLine();

const statusWith = async (token: string): Promise<number> =>
  (await fetch(`${stack.base_url}/notifications`, { headers: { 'x-auth-token': token } })).status;

const created = z.strictObject({
  id: z.string(),
  tenant: z.string(),
  role: z.string(),
  label: z.string(),
  expires: z.string(),
  token: z.string(),
});
const listed = z.array(
  z.strictObject({
    id: z.string(),
    role: z.string(),
    issuer: z.string(),
    label: z.string(),
    created: z.string(),
    expires: z.string(),
    expired: z.boolean(),
  }),
);

describe('token', () => {
  it('issues a valid token on standard output, and describes it on standard error', async () => {
    const { code, out, err } = await ops(['token', 'create', '--tenant', 't1', '--role', 'admin', '--label', 'a b']);
    expect([code, out]).toEqual([0, expect.stringMatching(/^mnt_\w{49}\n$/)]);
    expect(err).toMatch(
      /^Target: local stack .*\nToken tk[0-9A-Z]{26}: admin of tenant t1, expires \d{4}-.*Z\. It is not shown again\.\n$/,
    );
    expect(await statusWith(out.trim())).toBe(200);
  });

  it('issues a token that expires after --days', async () => {
    const { expires } = await runJson(created, 'token create --tenant t2 --role observer --label x --days 3');
    const days = (Date.parse(expires) - Date.now()) / 86_400_000;
    expect(days).toBeGreaterThan(2.99);
    expect(days).toBeLessThanOrEqual(3.01);
  });

  it('lists only the tokens of the tenant, without secrets', async () => {
    const { token, ...first } = await runJson(created, 'token create --tenant t3 --role admin --label one');
    await runJson(created, 'token create --tenant t3x --role admin --label other');
    const [found, ...others] = await runJson(listed, 'token list --tenant t3');
    expect(found).toMatchObject({ id: first.id, role: 'admin', label: 'one', expired: false });
    expect(others).toEqual([]);
    const { out } = await ops('token list --tenant t3');
    expect(out).toMatch(/^id +role +issuer +created +expires +label\n/);
    expect(out).toContain(`${first.id}  admin`);
    expect(out).not.toContain(token);
  });

  it('reports that a tenant has no tokens', async () => {
    expect(await ops('token list --tenant unknown')).toEqual({
      code: 0,
      out: 'Tenant unknown has no tokens.\n',
      err: '',
    });
  });

  it('replaces control characters in labels', async () => {
    await ops(['token', 'create', '--tenant', 't4', '--role', 'admin', '--label', 'a\u001b[2Jb']);
    const { out } = await ops('token list --tenant t4');
    expect(out).toContain('a\u{fffd}[2Jb');
    expect(out).not.toContain('\u001b');
  });

  it('revokes a token', async () => {
    const { id, token } = await runJson(created, 'token create --tenant t5 --role admin --label gone');
    const revoked = await ops(`token revoke ${id} --tenant t5`);
    expect(revoked).toMatchObject({ code: 0, out: `Revoked token ${id} of tenant t5 (gone).\n` });
    expect(await statusWith(token)).toBe(401);
    const repeated = await ops(`token revoke ${id} --tenant t5`);
    expect([repeated.code, repeated.err.split('\n')[1]]).toEqual([1, `Tenant t5 has no token ${id}.`]);
  });

  it('revokes a token with what it issued since a time', async () => {
    const { id, token } = await runJson(created, 'token create --tenant t9 --role admin --label stolen');
    const headers = { 'x-auth-token': token };
    const body = JSON.stringify({ label: 'minted', role: 'admin' });
    const minted = z
      .object({ id: z.string(), token: z.string() })
      .parse(await (await fetch(`${stack.base_url}/tokens`, { method: 'POST', headers, body })).json());
    expect((await ops('token list --tenant t9')).out).toMatch(new RegExp(`${minted.id} +admin +${id}`));
    expect(await ops(`token revoke ${id} --tenant t9 --issued-since 1h`)).toMatchObject({
      code: 0,
      out: `Revoked token ${id} of tenant t9 (stolen).\nRevoked token ${minted.id} of tenant t9 (minted).\n`,
    });
    expect(await statusWith(minted.token)).toBe(401);
  });

  it('revokes tokens by their IDs in the API, even the last admin token', async () => {
    const { token } = await runJson(created, 'token create --tenant t8 --role admin --label admin');
    const headers = { 'x-auth-token': token };
    const other = await runJson(created, 'token create --tenant t8 --role observer --label other');
    const response = await fetch(`${stack.base_url}/tokens`, { headers });
    const { values } = z
      .object({ values: z.array(z.object({ id: z.string(), label: z.string() })) })
      .parse(await response.json());
    expect(values.map(({ label }) => label)).toEqual(['admin', 'other']);
    const [admin, observer] = values;
    expect(await ops(`token revoke ${observer?.id} --tenant t8`)).toMatchObject({ code: 0 });
    expect(await statusWith(other.token)).toBe(401);
    expect(await ops(`token revoke ${admin?.id} --tenant t8`)).toMatchObject({ code: 0 });
    expect((await ops('token list --tenant t8')).out).toBe('Tenant t8 has no tokens.\n');
  });

  it('does not revoke another tenant’s token', async () => {
    const { id, token } = await runJson(created, 'token create --tenant t6 --role admin --label kept');
    expect(await ops(`token revoke ${id} --tenant t7`)).toMatchObject({ code: 1, out: '' });
    expect(await statusWith(token)).toBe(200);
  });
});

const account = z.strictObject({
  tenant: z.string(),
  contacts: z.array(z.string()),
  escalation_notifications: z.array(z.string()),
  has_webhook_token: z.boolean(),
  signing_secrets: z.number(),
  retired_secrets: z.array(z.strictObject({ until: z.string(), secret: z.string().optional() })),
  webhook_token: z.string().nullable().optional(),
  secrets: z.array(z.string()).optional(),
});

describe('account', () => {
  it('shows an empty account without creating credentials', async () => {
    const empty = {
      tenant: 'a1',
      contacts: [],
      escalation_notifications: [],
      has_webhook_token: false,
      signing_secrets: 0,
      retired_secrets: [],
    };
    expect(await runJson(account, 'account show a1')).toEqual(empty);
    expect(await runJson(account, 'account show a1')).toEqual(empty);
    expect((await ops('account show a1')).out).toMatch(
      /^contacts +none\nwebhook token +none yet.*\nsigning secret +none/,
    );
  });

  it('replaces the contacts, without duplicates', async () => {
    await ops('account set a2 --contact old@example.com');
    const { code, out } = await ops('account set a2 --contact b@example.com a@example.com b@example.com');
    expect([code, out]).toEqual([0, expect.stringMatching(/^contacts +b@example\.com, a@example\.com\n/)]);
  });

  it('sets the webhook token, and shows it only with --secrets', async () => {
    const { out, err } = await ops('account set a3 --webhook-token 0123456789');
    expect(out).toMatch(/webhook token +set\n/);
    expect(err).toMatch(/^Target: .*\nSenders use it within a minute\.\n$/);
    expect((await ops('account show a3')).out).not.toContain('0123456789');
    expect(await runJson(account, 'account show a3 --secrets')).toMatchObject({ webhook_token: '0123456789' });
  });

  it('rotates the signing secret, and keeps the previous one for a day', async () => {
    const rotated = z.object({ secret: z.string(), retired: z.array(z.string()) });
    const { secret: first, retired: none } = await runJson(rotated, 'account rotate-signing-secret a4');
    const { code, out, err } = await ops('account rotate-signing-secret a4');
    expect([code, none, out]).toEqual([0, [], expect.stringMatching(/^whsec_[\w+/]{43}=\n$/)]);
    expect(err).toMatch(/^Target: .*\nThe previous secret also signs until .*Z\. Senders use it within a minute\.\n$/);
    const shown = await runJson(account, 'account show a4 --secrets');
    expect(shown.secrets).toEqual([out.trim()]);
    expect(shown.retired_secrets).toEqual([{ secret: first, until: expect.stringMatching(/Z$/) }]);
    expect((await ops('account show a4')).out).not.toContain('whsec_');
  });

  it('overrides limits until the setting is restored, and shows those in effect', async () => {
    const shown = z.strictObject({
      tenant: z.string(),
      limits: z.record(z.enum(limitNames), z.number()),
      overrides: z.partialRecord(z.enum(limitNames), z.number()),
    });
    const { limits, overrides } = await runJson(shown, 'account limits a6');
    expect([limits.notificationsPerTenant, limits.smsPerTenantPerDay, overrides]).toEqual([1_000, 1_000, {}]);
    const { out } = await ops('account limits a6 notificationsPerTenant=5000 smsPerTenantPerDay=0');
    expect(out).toMatch(/^limit +value +setting\nnotificationsPerTenant +5000 +1000 +overridden\n/);
    const { code, err } = await ops('account limits a6 notificationsPerTenant=default');
    expect([code, err]).toEqual([0, expect.stringMatching(/\nThe service uses the limits within a minute\.\n$/)]);
    expect(await runJson(shown, 'account limits a6')).toEqual({
      tenant: 'a6',
      limits: { ...limits, smsPerTenantPerDay: 0 },
      overrides: { smsPerTenantPerDay: 0 },
    });
  });

  it('turns shadow mode on and off, and shows it while it is on', async () => {
    const changed = z.strictObject({
      tenant: z.string(),
      shadow: z.strictObject({ from: z.string(), until: z.string().nullable() }).nullable(),
    });
    expect(await runJson(changed, 'account shadow a7 on')).toEqual({
      tenant: 'a7',
      shadow: { from: expect.stringMatching(/Z$/), until: null },
    });
    const inbox = async () => (await fetch(`${stack.inbox_url}?kind=managed`)).text();
    await until(async () => (await inbox()).includes('The service records the alerts of the tenant a7 as cancelled'));
    expect((await ops('account show a7')).out).toMatch(/\nshadow mode +on: alerts of events that SQS accepts from /);
    const { code, out } = await ops('account shadow a7 off');
    expect([code, out]).toEqual([0, expect.stringMatching(/^off: .* are sent\n$/)]);
    expect((await ops('account show a7')).out).not.toContain('shadow');
  });

  it('counts the notifications of a restored table', async () => {
    const {
      AWS_REGION: region = '',
      AWS_ACCESS_KEY_ID: id = '',
      AWS_SECRET_ACCESS_KEY: key = '',
    } = stack.aws_environment;
    const credentials = { accessKeyId: id, secretAccessKey: key };
    const client = new DynamoDBClient({ endpoint: stack.aws_endpoint, region, credentials });
    const { TableNames = [] } = await client.send(new ListTablesCommand());
    const tenant = stack.tenants.admin;
    const counter = { pk: { S: `quota#${tenant}` }, sk: { S: 'notifications' }, used: { N: '7' }, changes: { N: '9' } };
    const TableName = TableNames.find((name) => name.includes('Notifications'));
    await client.send(new PutItemCommand({ TableName, Item: counter }));
    client.destroy();
    expect(await ops(`account recount ${tenant}`)).toMatchObject({ code: 0, out: '0 instead of 7\n' });
    const recounted = z.strictObject({ tenant: z.string(), before: z.number(), after: z.number() });
    expect(await runJson(recounted, `account recount ${tenant}`)).toEqual({ tenant, before: 0, after: 0 });
    expect(await ops(`account recount ${tenant}`)).toMatchObject({ code: 0, out: '0, as counted\n' });
  });

  it.each([
    ['account set a5', 'Nothing to set: pass --contact or --webhook-token.\n'],
    ['account set a5 --webhook-token 012345678', /10 to 64 printable ASCII characters/],
    ['account set a5 --webhook-token '.concat('x'.repeat(65)), /10 to 64 printable ASCII characters/],
    ['account limits a5 sms=5', new RegExp(`The limits are ${limitNames.join(', ')}\\.\n$`)],
    ['account limits a5 smsPerTenantPerDay', /A change is name=value or name=default\./],
    [
      'account limits a5 smsPerTenantPerDay=-1',
      /smsPerTenantPerDay must be a whole number from 0 to 9007199254740991,/,
    ],
    ['account limits a5 smsPerTenantPerDay=', /smsPerTenantPerDay must be a whole number from 0 to /],
    ['account limits a5 notificationsPerTenant=0', /notificationsPerTenant must be a whole number from 1 to /],
    ['account shadow a5 on --at tomorrow', /It must be a time such as 2026-12-01T10:00Z\.\n$/],
    ['account set a5 --contact invalid', /It must be an email address\.\n$/],
  ])('rejects %s', async (command, message) => {
    expect(await ops(command)).toEqual({ code: 2, out: '', err: expect.stringMatching(message) });
  });
});

describe('a local stack', () => {
  it('is found while it runs, and leaves no file behind', async () => {
    const files = () => readdirSync(directory.path).filter((name) => name.endsWith('.json'));
    expect(files()).toHaveLength(1);
    await stack.stop();
    expect(files()).toEqual([]);
    expect(await ops('token list --tenant t1')).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^No local stack runs/),
    });
  });
});
