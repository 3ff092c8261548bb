import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { createEmailStops } from '../../shared/adapters/accounts/email-stops.ts';
import { connectTables, useStackWithCommandLine } from './command-line.ts';

const { stack, directory, ops, runJson } = useStackWithCommandLine();

const line = z.object({ kind: z.string(), record: z.looseObject({}) });
const parseLines = (text: string) =>
  text
    .trimEnd()
    .split('\n')
    .map((each) => line.parse(JSON.parse(each)));

it('tenant export writes a new file that only its owner can read, as JSON Lines', async () => {
  const file = join(directory.path, 'acme.jsonl');
  const { code, out, err } = await ops(['tenant', 'export', 'acme', '--out', file]);
  expect([code, err]).toEqual([
    0,
    expect.stringMatching(/^Target: local stack .*\nWrote 8 records of tenant acme to .*\.\n$/),
  ]);
  expect(out).toMatch(/^kind +count\naccount +1\ntoken +3\naudit +4\n$/);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const lines = parseLines(readFileSync(file, 'utf8'));
  expect(lines.map(({ kind }) => kind)).toEqual([
    'export',
    'account',
    'token',
    'token',
    'token',
    'audit',
    'audit',
    'audit',
    'audit',
    'end',
  ]);
  expect(lines[1]?.record).toEqual({
    id: 'acme',
    technical_contacts: ['oncall@acme.example', 'lead@acme.example'],
    time_zone: 'UTC',
  });
  expect(lines.at(-1)?.record).toEqual({ counts: { account: 1, token: 3, audit: 4 } });

  const unknown = await ops(['tenant', 'export', 'nobody', '--out', join(directory.path, 'nobody.jsonl')]);
  expect([unknown.code, unknown.err]).toEqual([1, expect.stringMatching(/\nTenant nobody does not exist: /)]);
  expect(existsSync(join(directory.path, 'nobody.jsonl'))).toBe(false);

  const again = await ops(['tenant', 'export', 'acme', '--out', file]);
  expect(again).toEqual({
    code: 1,
    out: '',
    err: expect.stringMatching(/^Target: .*\n.*acme\.jsonl cannot be created, pass the path of a new file: EEXIST/),
  });
});

describe('tenants', () => {
  const row = z.strictObject({
    tenant_id: z.string(),
    usage: z.record(z.string(), z.number()),
    stops: z.number(),
    alerts_24h: z.strictObject({ total: z.number() }),
    shadow: z.strictObject({ from: z.number(), until: z.number() }).nullable(),
  });

  it('lists all tenants: those with the most stopped mailboxes first, the others by name', async () => {
    await ops('account shadow umbrella on --for 1h --new --yes');
    const { database, tableNamed } = await connectTables(stack);
    const stops = createEmailStops(database, tableNamed('Accounts'));
    await stops.complain({ tenant: 'umbrella', address: 'oncall@umbrella.example' }, Date.now());
    const rows = await runJson(z.array(row), 'tenants');
    const [first = '', ...names] = rows.map(({ tenant_id }) => tenant_id);
    expect([first, ...names]).toEqual(['umbrella', ...names.toSorted()]);
    const rowOf = (id: string) => rows.find(({ tenant_id }) => tenant_id === id);
    expect(rowOf('acme')).toMatchObject({ usage: { tokens: 3, notifications: 0 }, shadow: null });
    expect(rowOf('umbrella')).toMatchObject({ usage: { tokens: 0 }, stops: 1, shadow: { until: expect.any(Number) } });
    const { out } = await ops('tenants');
    expect(out).toMatch(/^tenant +notifications +tokens +alerts +failed +email +sms +managed +/);
    expect(out).toMatch(/^umbrella .* shadow$/m);
  });
});

describe('tenant delete', () => {
  const deletion = z.object({
    dry_run: z.boolean(),
    items: z.record(z.string(), z.number()),
    dead_letters: z.record(z.string(), z.number()),
    run_again_after: z.string().optional(),
  });

  it('requires a confirmation, or only counts', async () => {
    expect(await ops('tenant delete acme')).toEqual({
      code: 2,
      out: '',
      err: 'This would permanently delete all data of tenant acme: see what with --dry-run, confirm with --yes.\n',
    });
    const { items, dry_run } = await runJson(deletion, 'tenant delete acme --dry-run');
    expect([dry_run, items]).toEqual([true, { accounts: 1, tokens: 3, token_lists: 1, audits: 4 }]);
    expect(await runJson(deletion, 'tenant delete acme --dry-run')).toMatchObject({ items });
  });

  it('deletes, says when to repeat it, and then finds nothing', async () => {
    await ops('account limits initech smsPerTenantPerDay=1 --new');
    const first = await ops('tenant delete initech --yes');
    expect(first).toEqual({
      code: 0,
      out: expect.stringMatching(/^kind +count\naccounts +1\naudits +1\n$/),
      err: expect.stringMatching(
        /^Target: .*\nAlerts in flight can add data for a day\. Run the command again after \d{4}-.*Z,/,
      ),
    });
    const second = await ops('tenant delete initech --yes');
    expect(second).toEqual({
      code: 0,
      out: 'Nothing was left to delete.\n',
      err: expect.stringMatching(/^Target: .*\n$/),
    });
    expect((await ops('tenant delete initech --dry-run')).out).toBe('Nothing is stored about the tenant.\n');
  });

  it.each(['--dry-run', '--yes'])('fails for a tenant that never existed: %s', async (option) => {
    expect(await ops(`tenant delete nobody ${option}`)).toEqual({
      code: 1,
      out: '',
      err: expect.stringMatching(/(^|\n)Tenant nobody does not exist: check its name/),
    });
  });
});

describe('audits', () => {
  const audits = z.array(
    z.object({
      action: z.string(),
      target_id: z.string().nullable(),
      changed: z.array(z.string()),
      principal: z.string(),
    }),
  );
  const principal = 'arn:aws:iam::000000000000:user/local-operator';

  it('shows what operators did to a tenant, newest first', async () => {
    const { id } = await runJson(
      z.object({ id: z.string() }),
      'token create --tenant hooli --role admin --label marker --new',
    );
    await ops('account limits hooli smsPerTenantPerDay=1234');
    await ops('account recount hooli');
    await ops(`token revoke ${id} --tenant hooli --issued-since none`);
    const found = await runJson(audits, 'audits hooli');
    expect(found).toMatchObject([
      { action: 'revoke-token', changed: [], principal },
      { action: 'recount-notifications', target_id: 'hooli', changed: [], principal },
      { action: 'update-account', target_id: 'hooli', changed: ['smsPerTenantPerDay'], principal },
      { action: 'create-token', changed: ['label', 'role', 'expires_at'], principal },
    ]);
    expect(JSON.stringify(found)).not.toMatch(/1234|marker/);
    const { out } = await ops('audits hooli --limit 1');
    expect(out).toMatch(/^time +action +target +changed .*\n\S+Z +revoke-token .*local-operator.*\n$/);
  });

  it('shows what operators did to the whole stack', async () => {
    await ops('dead-letters redrive sms');
    await ops('dead-letters purge email --yes');
    expect((await runJson(audits, 'audits --limit 2')).map(({ action, target_id }) => [action, target_id])).toEqual([
      ['purge-dead-letters', 'email'],
      ['redrive-dead-letters', 'sms'],
    ]);
  });

  it('has no entry of a command that was refused', async () => {
    const before = await runJson(audits, 'audits hooli');
    const refused = await ops('token revoke tk01M7ZZ2AQ9MC8P6P3KH5Y23K83 --tenant hooli --issued-since none');
    expect(refused.code).toBe(1);
    expect(await runJson(audits, 'audits hooli')).toEqual(before);
  });
});
