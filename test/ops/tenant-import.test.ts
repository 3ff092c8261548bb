import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { useStackWithCommandLine } from './command-line.ts';

const LIMIT = 4;
const { stack, directory, ops } = useStackWithCommandLine({ notificationsPerTenant: String(LIMIT) });

const email = (id: string, label = id) => ({ id, label, type: 'email', details: { address: `${id}@example.com` } });
const ndjson = (...records: unknown[]) => records.map((record) => JSON.stringify(record)).join('\n');

const imported = z.strictObject({
  tenant_id: z.string(),
  dry_run: z.boolean(),
  notifications: z.array(z.strictObject({ old_id: z.string(), new_id: z.string(), result: z.string() })),
  account: z.array(z.strictObject({ attribute: z.string(), result: z.string() })),
  refused: z.array(z.strictObject({ source: z.string(), old_id: z.optional(z.string()), error: z.string() })),
});
const runImport = async (args: string, input = '', env: Record<string, string> = {}) => {
  const { out, code, err } = await ops(`--json tenant import ${args}`, { input, env });
  const result = imported.parse(JSON.parse(out || `{"error":${JSON.stringify(err)}}`));
  expect(code).toBe(result.refused.length > 0 ? 1 : 0);
  return result;
};
const resultsOf = ({ notifications }: z.infer<typeof imported>) =>
  Object.fromEntries(notifications.map(({ old_id, result }) => [old_id, result]));

const exported = async (tenant: string, ...options: string[]) =>
  (await ops(['tenant', 'export', tenant, '--out', '-', ...options])).out;
/** The notifications and the account that are stored, as an export has them. */
const storedRecords = async (tenant: string) =>
  (await exported(tenant, '--secrets'))
    .trim()
    .split('\n')
    .map((line) => z.object({ kind: z.string(), record: z.looseObject({}) }).parse(JSON.parse(line)))
    .flatMap(({ kind, record }) => (kind === 'notification' || kind === 'account' ? [record] : []));

describe('tenant import', () => {
  it('creates notifications and prints their IDs, and nothing again if it is repeated', async () => {
    const file = join(directory.path, 'page.json');
    const muted_until = Date.now() + 3_600_000;
    const records = [
      { ...email('ntOldA'), metadata: { team: 'ops' }, muted_until, created_at: 1 },
      email('ntOldB'),
      email('ntOldB'),
      { id: 'ntTechnicalContactsEmail', label: 'Other words', type: 'technicalContactsEmail', details: {} },
    ];
    writeFileSync(file, JSON.stringify({ values: records, metadata: { count: 4, next_href: null } }, undefined, 2));
    const first = await ops(['tenant', 'import', 'page', file, '--new']);
    expect(first.code).toBe(0);
    const [heading, ...rows] = first.out.trimEnd().split('\n');
    expect(heading).toBe('old_id\tnew_id\tresult');
    expect(rows).toEqual([
      expect.stringMatching(/^ntOldA\tnt\w{26}\tcreated$/),
      expect.stringMatching(/^ntOldB\tnt\w{26}\tcreated$/),
      'ntTechnicalContactsEmail\tntTechnicalContactsEmail\tunchanged',
    ]);
    expect(first.err).toMatch(
      /^Target: local stack .*\n3 notifications: 2 created, 1 unchanged; 0 records refused\.\n$/,
    );

    const again = await ops(['tenant', 'import', 'page', file]);
    expect(again.out).toBe(first.out.replaceAll('created', 'unchanged'));
    const id = rows[0]?.split('\t')[1];
    expect(await storedRecords('page')).toContainEqual({
      id,
      label: 'ntOldA',
      type: 'email',
      details: { address: 'ntOldA@example.com' },
      metadata: { team: 'ops' },
      muted_until,
    });
    expect(await storedRecords('page')).toHaveLength(2);
  });

  it('lists the rules that records break in a dry run, with their places, and changes nothing', async () => {
    const lines = ndjson(
      email('good'),
      { id: 'bad', label: '', type: 'webhook', details: { url: 'ftp://example.com' } },
      email('good', 'another'),
      { label: 'no ID', type: 'managed' },
      7,
      { id: 'masked', label: 'masked', type: 'incidentpager', details: { service_key: '***' } },
      { id: 'a\u001bb', label: 'a', type: 'managed' },
      { technical_contacts: ['nobody'], webhook_token: '**********' },
      { ...email('off'), enabled: false },
      { id: 'private', label: 'l', type: 'webhook', details: { url: 'http://10.0.0.1/' } },
    );
    const dry = await runImport('dry --dry-run --new', `${lines}\n{"id":`);
    expect(resultsOf(dry)).toEqual({ good: 'created' });
    expect(dry.refused).toEqual([
      {
        source: 'standard input:2',
        old_id: 'bad',
        error: 'label: must be 1 to 255 characters long; details.url: must be an HTTP or HTTPS URL',
      },
      { source: 'standard input:3', old_id: 'good', error: 'id: has other attributes in standard input:1' },
      { source: 'standard input:4', error: 'id: is required' },
      { source: 'standard input:5', error: 'must be a JSON object' },
      { source: 'standard input:6', old_id: 'masked', error: 'details.service_key: is masked, enter the value' },
      { source: 'standard input:7', old_id: 'a\u001bb', error: 'id: must not contain control characters' },
      { source: 'standard input:8', error: 'webhook_token: is masked, enter the value' },
      {
        source: 'standard input:9',
        old_id: 'off',
        error: 'enabled: has no effect, set muted_until to mute the notification',
      },
      { source: 'standard input:10', old_id: 'private', error: 'details.url: must not have a private IP address' },
      { source: 'standard input:11', error: 'is not valid JSON' },
    ]);
    expect(await storedRecords('dry')).toEqual([]);
    const { err } = await ops('tenant import dry --dry-run --new', { input: lines });
    expect(err).toContain('standard input:7: a\u{fffd}b: id: must not');
    expect(err).toContain('Dry run, nothing was changed. 1 notification: 1 created; 9 records refused.\n');
  });

  it('obeys the limit of notifications, in a dry run too', async () => {
    const ids = ['a', 'b', 'c', 'd', 'e'];
    const lines = ndjson(...ids.map((id) => email(id)));
    for (const options of ['--dry-run', '']) {
      const { notifications, refused } = await runImport(`full --new ${options}`.trim(), lines);
      expect(notifications).toHaveLength(LIMIT);
      expect(refused).toEqual([
        expect.objectContaining({ old_id: 'e', error: expect.stringContaining(`at most ${LIMIT} notifications`) }),
      ]);
    }
  });

  it('changes what differs only with --update', async () => {
    const account = (token: string, ...contacts: string[]) => ({ technical_contacts: contacts, webhook_token: token });
    await runImport('late --new', ndjson(email('x'), email('y'), account('token-of-old', 'a@example.com')));
    const later = ndjson(email('x', 'renamed'), email('y'), account('token-of-new', 'a@example.com'));
    const steps = [
      ['', 'differs'],
      ['--update --dry-run', 'updated'],
      ['--update', 'updated'],
    ];
    for (const [options, result] of steps) {
      const { notifications, account: attributes } = await runImport(`late ${options}`.trim(), later);
      expect(notifications.map((each) => each.result)).toEqual([result, 'unchanged']);
      expect(attributes).toEqual([
        { attribute: 'technical_contacts', result: 'unchanged' },
        { attribute: 'webhook_token', result },
      ]);
    }
    expect(await storedRecords('late')).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ label: 'renamed' }),
        expect.objectContaining({ webhook_token: 'token-of-new', technical_contacts: ['a@example.com'] }),
      ]),
    );
  });

  it('keeps with --update a mute that the source does not have', async () => {
    const muted_until = Date.now() + 3_600_000;
    await runImport('muted --new', ndjson({ ...email('x'), muted_until }));
    expect(resultsOf(await runImport('muted --update', ndjson(email('x'))))).toEqual({ x: 'unchanged' });
    expect(resultsOf(await runImport('muted --update', ndjson(email('x', 'renamed'))))).toEqual({ x: 'updated' });
    expect(await storedRecords('muted')).toMatchObject([{ label: 'renamed', muted_until }]);
  });

  it('refuses an unknown tenant without --new', async () => {
    const refused = await ops('tenant import nobody --dry-run', { input: ndjson(email('x')) });
    expect([refused.code, refused.err]).toEqual([
      1,
      expect.stringMatching(/(^|\n)Tenant nobody does not exist: .*, or pass --new\.\n$/),
    ]);
  });

  it('imports an export with the same IDs, and reports an incomplete one', async () => {
    const attributes = {
      technical_contacts: ['a@example.com'],
      escalation_notifications: ['x'],
      summaries: { sms_after: 1 },
      time_zone: 'Europe/Berlin',
    };
    await runImport('source --new', ndjson(email('x'), attributes));
    const text = await exported('source');
    const { notifications, account, refused } = await runImport('copy --new', text);
    expect(notifications).toEqual([
      { old_id: notifications[0]?.new_id, new_id: expect.any(String), result: 'created' },
    ]);
    const created = Object.keys(attributes).map((attribute) => ({ attribute, result: 'created' }));
    expect([account, refused]).toEqual([created, []]);
    expect(text).toContain(`"escalation_notifications":["${notifications[0]?.new_id}"]`);
    expect((await ops('account show copy')).out).toContain(`fallback         ${notifications[0]?.new_id}\n`);
    const copied = await storedRecords('copy');
    expect(copied).toEqual(
      (await storedRecords('source')).map((record) => (record.id === 'source' ? { ...record, id: 'copy' } : record)),
    );

    const cut = await runImport('copy', text.slice(0, text.lastIndexOf('{"kind":"end"')));
    expect(cut.refused).toEqual([
      { source: 'standard input:1', error: 'the export is incomplete: it has no line `end`' },
    ]);
  });

  it('imports all pages of the API of another system', async () => {
    await runImport('acme', ndjson(email('x'), email('y'), email('z')));
    const url = `${stack.base_url}/notifications?limit=1`;
    const { notifications } = await runImport(`globex ${url}`, '', { SOURCE_TOKEN: stack.tokens.admin });
    expect(notifications.map(({ result }) => result)).toEqual(['created', 'created', 'created', 'unchanged']);
    const missing = await ops(`tenant import globex ${url}`);
    expect([missing.code, missing.err]).toEqual([2, expect.stringMatching(/\nSet SOURCE_TOKEN to/)]);
  });
});
