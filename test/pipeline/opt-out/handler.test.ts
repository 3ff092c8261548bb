import { GetCommand } from '@aws-sdk/lib-dynamodb';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { createOptOutKeys } from '../../../shared/adapters/accounts/opt-out-keys.ts';
import { createOptOuts } from '../../../shared/adapters/accounts/opt-outs.ts';
import { createAuditLog } from '../../../shared/adapters/audits/audit-log.ts';
import { createAuditReader } from '../../../shared/adapters/audits/audit-reader.ts';
import { logger } from '../../../shared/adapters/logger.ts';
import { optOutUrl, type Recipient, shortOptOutHash } from '../../../shared/domain/opt-out.ts';
import { createOptOutHandler } from '../../../shared/pipeline/opt-out/handler.ts';
import type { SendLastEmail } from '../../../shared/pipeline/opt-out/last-email.ts';
import { apiRequest } from '../../support/api-request.ts';
import { useDatabase } from '../../support/dynamodb.ts';

const { client } = useDatabase();
const optOutKeys = createOptOutKeys(client, 'accounts');
const optOuts = createOptOuts(client, 'accounts');
const audits = createAuditLog(client, { AUDITS_TABLE: 'audits', AUDIT_RETENTION_DAYS: 90 });

const ONE_CLICK = 'List-Unsubscribe=One-Click';
const UNDO = 'Undo=Confirm';

let logged: unknown[] = [];
beforeEach(() => {
  logged = [];
  for (const level of ['warn', 'error'] as const)
    vi.spyOn(logger, level).mockImplementation((...line: unknown[]) => void logged.push(line));
  return () => vi.restoreAllMocks();
});

let tenants = 0;

const setUp = (results: Awaited<ReturnType<SendLastEmail>>[] = []) => {
  const recipient: Recipient = { tenant: `tenant-${++tenants}`, address: 'oncall@example.com' };
  const sendLastEmail = vi.fn<SendLastEmail>(async () => results.shift() ?? 'sent');
  const handler = createOptOutHandler({ optOutKeys, optOuts, audits, sendLastEmail });
  const queryOf = async (purpose: 'opt-out' | 'undo', of = recipient) =>
    new URL(optOutUrl('https://api.example.org', await optOutKeys.current(), purpose, of)).search.slice(1);
  const request = (routeKey: string, rawQueryString: string, body?: string, isBase64Encoded = false) =>
    handler(apiRequest({ routeKey, rawQueryString, isBase64Encoded, ...(body !== undefined && { body }) }));
  return {
    recipient,
    sendLastEmail,
    request,
    queryOf,
    stop: async () => request('POST /opt-out', await queryOf('opt-out'), ONE_CLICK),
    undo: async () => request('POST /opt-out/undo', await queryOf('undo'), UNDO),
    hasOptedOut: async (tenant = recipient.tenant) =>
      (await optOuts.remaining(tenant, [recipient.address])).length === 0,
    audited: async () => {
      const range = { fromMs: 0, toMs: 9_999_999_999_999, isReverse: false };
      return Array.fromAsync(createAuditReader(client, 'audits').list(recipient.tenant, range, null, 10));
    },
  };
};

describe('a link in an email', () => {
  it('opens a page that names the tenant and has one button, whatever is stored, and changes nothing', async () => {
    const { recipient, request, queryOf, stop, hasOptedOut, sendLastEmail } = setUp();
    const query = await queryOf('opt-out');
    const page = await request('GET /opt-out', query);
    expect(page).toMatchObject({ statusCode: 200, body: expect.stringContaining(recipient.tenant) });
    expect(page.body?.match(/<button/g)).toHaveLength(1);
    expect(page.body).not.toContain(recipient.address);
    expect([await hasOptedOut(), sendLastEmail.mock.calls.length]).toEqual([false, 0]);
    await stop();
    expect(await request('GET /opt-out', query)).toEqual(page);
  });

  it('is answered without script, frames, caches, referrers and search engines', async () => {
    const { request, queryOf } = setUp();
    const { headers, body } = await request('GET /opt-out', await queryOf('opt-out'));
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-frame-options': 'DENY',
      'x-robots-tag': 'noindex, nofollow',
    });
    expect(headers?.['content-security-policy']).toMatch(
      /^default-src 'none'; style-src 'sha256-[^']+'; form-action 'self'/,
    );
    expect(body).not.toMatch(/<script|https?:/);
  });

  it.each([
    ['of another purpose', 'undo'],
    ['that was changed', 'changed'],
    ['without its parts', 'empty'],
    ['that is too long', 'long'],
  ])('%s gets the same page as any other invalid one, whatever is stored', async (_, kind) => {
    const { request, queryOf, stop } = setUp();
    await stop();
    const query = await queryOf('opt-out');
    const queries: Record<string, string> = {
      undo: await queryOf('undo'),
      changed: `${query.slice(0, -2)}AA`,
      empty: '',
      long: `${query}${'A'.repeat(2_000)}`,
    };
    const never = `tenant=${Buffer.from('nobody').toString('base64url')}&link=${'A'.repeat(60)}`;
    for (const method of ['GET', 'POST'])
      expect(await request(`${method} /opt-out`, queries[kind] ?? '', ONE_CLICK)).toEqual(
        await request('GET /opt-out', never),
      );
  });

  it('shows a tenant ID with markup as text', async () => {
    const { request, queryOf } = setUp();
    const query = await queryOf('opt-out', { tenant: '<script>alert(1)</script>', address: 'a@example.com' });
    expect((await request('GET /opt-out', query)).body).toContain('&lt;script&gt;');
  });
});

describe('stopping emails', () => {
  it.each([
    ['a form', ONE_CLICK, false],
    ['a form in Base64', Buffer.from(ONE_CLICK).toString('base64'), true],
    [
      'multipart',
      '--b\r\nContent-Disposition: form-data; name="List-Unsubscribe"\r\n\r\nOne-Click\r\n--b--\r\n',
      false,
    ],
  ])('holds for one tenant, with a body as %s', async (_, body, isBase64Encoded) => {
    const { request, queryOf, hasOptedOut, sendLastEmail, recipient } = setUp();
    expect(await request('POST /opt-out', await queryOf('opt-out'), body, isBase64Encoded)).toMatchObject({
      statusCode: 200,
    });
    expect([await hasOptedOut(), await hasOptedOut('another')]).toEqual([true, false]);
    expect(sendLastEmail.mock.calls).toEqual([[recipient]]);
  });

  it('needs the field of the button', async () => {
    const { request, queryOf, hasOptedOut } = setUp();
    const query = await queryOf('opt-out');
    for (const body of [undefined, 'a=b', `${ONE_CLICK}${'x'.repeat(4_096)}`])
      expect(await request('POST /opt-out', query, body)).toMatchObject({ statusCode: 400 });
    expect(await hasOptedOut()).toBe(false);
  });

  it('holds if SES accepts no email, which is sent by the next attempt', async () => {
    const { stop, hasOptedOut, sendLastEmail } = setUp(['not_sent']);
    expect(await stop()).toMatchObject({ statusCode: 503, body: expect.stringContaining('Emails stopped') });
    expect(await hasOptedOut()).toBe(true);
    expect(await stop()).toMatchObject({ statusCode: 200 });
    expect(sendLastEmail).toHaveBeenCalledTimes(2);
  });

  it('sends no second email if it is unknown whether SES accepted the first', async () => {
    const { stop, sendLastEmail } = setUp(['unknown']);
    expect(await stop()).toMatchObject({ statusCode: 200 });
    await stop();
    expect(sendLastEmail).toHaveBeenCalledOnce();
  });

  it('and undoing it are audited as changes of the recipient, without address, link and IP address', async () => {
    const { stop, undo, audited, recipient } = setUp();
    await stop();
    await undo();
    const recorded = { target_id: shortOptOutHash(recipient), actor: { type: 'recipient' }, request_id: 'request-1' };
    const entries = await audited();
    expect(entries).toMatchObject([
      { action: 'opt-out', ...recorded },
      { action: 'undo-opt-out', ...recorded },
    ]);
    expect(JSON.stringify(entries)).not.toMatch(/oncall|example\.com|ip_address|link/);
  });

  it('leaves neither address nor link in the log if a dependency fails', async () => {
    const { recipient, queryOf } = setUp();
    const failing = { all: () => Promise.reject(new Error(`No ${recipient.address}`)) };
    const sendLastEmail: SendLastEmail = async () => 'sent';
    const handler = createOptOutHandler({ optOutKeys: failing, optOuts, audits, sendLastEmail });
    const rawQueryString = await queryOf('opt-out');
    expect(await handler(apiRequest({ routeKey: 'GET /opt-out', rawQueryString }))).toMatchObject({ statusCode: 503 });
    expect(logged).toHaveLength(1);
    expect(JSON.stringify(logged)).not.toMatch(new RegExp(`oncall|${rawQueryString.slice(-20)}`));
  });
});

describe('undoing an opt-out', () => {
  it('needs the link of the last email and its button', async () => {
    const { request, queryOf, stop, undo, hasOptedOut } = setUp();
    await stop();
    const query = await queryOf('undo');
    expect(await request('POST /opt-out/undo', await queryOf('opt-out'), UNDO)).toMatchObject({ statusCode: 404 });
    expect(await request('POST /opt-out/undo', query, ONE_CLICK)).toMatchObject({ statusCode: 400 });
    expect(await request('GET /opt-out/undo', query)).toMatchObject({ statusCode: 200 });
    expect(await hasOptedOut()).toBe(true);
    expect(await undo()).toMatchObject({ statusCode: 200 });
    expect(await hasOptedOut()).toBe(false);
  });
});

describe('the keys of links', () => {
  it('are created once, by whichever function is first, and read again after a minute', async () => {
    let nowMs = 0;
    const [one, other] = [1, 2].map(() => createOptOutKeys(client, 'accounts', () => nowMs));
    const [first] = await Promise.all([one?.current(), other?.current()]);
    expect(await other?.current()).toEqual(first);
    await one?.rotate(() => ({ Put: { TableName: 'audits', Item: { pk: 'operators', sk: 'rotation' } } }));
    expect(await other?.current()).toEqual(first);
    nowMs += 60_001;
    const second = await other?.current();
    expect(second).not.toEqual(first);
    expect(await one?.all()).toEqual([second, first]);
    const { Item } = await client.send(new GetCommand({ TableName: 'accounts', Key: { pk: 'opt_out_keys' } }));
    expect(Object.keys(Item ?? {}).toSorted()).toEqual(['current', 'pk', 'previous']);
  });
});
