import { DeleteCommand } from '@aws-sdk/lib-dynamodb';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { createEmailStops } from '../../../shared/adapters/accounts/email-stops.ts';
import { createOptOutKeys } from '../../../shared/adapters/accounts/opt-out-keys.ts';
import { createAuditLog, createAuditReader } from '../../../shared/adapters/audits/audit-log.ts';
import { logger } from '../../../shared/adapters/logger.ts';
import { type EmailStop, mailboxHash, optOutUrl, type Recipient } from '../../../shared/domain/email-stop.ts';
import { createOptOutHandler } from '../../../shared/pipeline/opt-out.ts';
import { apiRequest } from '../../support/api-request.ts';
import { useDatabase } from '../../support/dynamodb.ts';

const { client } = useDatabase();
const optOutKeys = createOptOutKeys(client, 'accounts');
const audits = createAuditLog(client, { AUDITS_TABLE: 'audits', AUDIT_RETENTION_DAYS: 90 });

const ONE_CLICK = 'List-Unsubscribe=One-Click';
const RESUME = 'Resume=Confirm';
const NOON_MS = Date.parse('2026-01-01T12:00:00Z');

let logged: unknown[] = [];
beforeEach(() => {
  logged = [];
  for (const level of ['warn', 'error'] as const)
    vi.spyOn(logger, level).mockImplementation((...line: unknown[]) => void logged.push(line));
  return () => vi.restoreAllMocks();
});

let tenants = 0;

const setUp = () => {
  const recipient: Recipient = { tenant: `tenant-${++tenants}`, address: 'oncall@example.com' };
  let nowMs = NOON_MS;
  const clock = () => nowMs++;
  const stops = createEmailStops(client, 'accounts', clock);
  const reported: EmailStop[] = [];
  const queue = { isDown: false };
  const reportStop = async (_: Recipient, stop: EmailStop): Promise<void> => {
    if (queue.isDown) throw new Error(`No ${recipient.address}`);
    reported.push(stop);
  };
  const handler = createOptOutHandler({ optOutKeys, stops, audits, reportStop, clock });
  const queryOf = async (of = recipient) =>
    new URL(optOutUrl('https://api.example.org', await optOutKeys.current(), of)).search.slice(1);
  const request = (routeKey: string, rawQueryString: string, body?: string, isBase64Encoded = false) =>
    handler(apiRequest({ routeKey, rawQueryString, isBase64Encoded, ...(body !== undefined && { body }) }));
  return {
    recipient,
    stops,
    reported,
    queue,
    request,
    queryOf,
    wait: (ms: number) => {
      nowMs += ms;
    },
    stop: async () => request('POST /opt-out', await queryOf(), ONE_CLICK),
    resume: async () => request('POST /opt-out', await queryOf(), RESUME),
    reasonFor: async (tenant = recipient.tenant) => (await stops.find({ ...recipient, tenant }))?.reason,
    audited: async () => {
      const range = { fromMs: 0, toMs: 9_999_999_999_999, isReverse: false };
      return Array.fromAsync(
        createAuditReader(client, 'audits').list(recipient.tenant, { ...range, start: null, pageSize: 10 }),
      );
    },
  };
};

describe('a link in an email', () => {
  it('opens a page that names the tenant and has the button that changes the state, and changes nothing', async () => {
    const { recipient, request, queryOf, stop, reasonFor } = setUp();
    const query = await queryOf();
    const page = await request('GET /opt-out', query);
    expect(page).toMatchObject({ statusCode: 200, body: expect.stringContaining(recipient.tenant) });
    expect(page.body?.match(/<button/g)).toHaveLength(1);
    expect(page.body).toContain('name="List-Unsubscribe" value="One-Click"');
    expect(page.body).not.toContain(recipient.address);
    expect(await reasonFor()).toBeUndefined();
    await stop();
    const stopped = await request('GET /opt-out', query);
    expect(stopped.body).toContain('name="Resume" value="Confirm"');
    expect(await reasonFor()).toBe('opted_out');
  });

  it('says until when none is sent because an email bounced, and has the button that stops them', async () => {
    const { recipient, stops, request, queryOf, stop, resume } = setUp();
    await stops.bounce(recipient, NOON_MS);
    const bounced = await request('GET /opt-out', await queryOf());
    expect(bounced.body).toContain('none is sent to this address until 2026-01-02 12:00:00 UTC');
    expect(bounced.body).not.toContain('Emails are not stopped');
    expect(bounced.body).toContain('name="List-Unsubscribe" value="One-Click"');
    expect((await stop()).body).toContain('Emails are stopped');
    expect(await resume()).toEqual(bounced);
  });

  it('is answered to HEAD like to GET, without a body', async () => {
    const { request, queryOf } = setUp();
    const { body: _, ...head } = await request('GET /opt-out', await queryOf());
    expect(await request('HEAD /opt-out', await queryOf())).toEqual({ ...head, body: '' });
  });

  it('is answered without script, frames, caches, referrers and search engines', async () => {
    const { request, queryOf } = setUp();
    const { headers, body } = await request('GET /opt-out', await queryOf());
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

  it('that is invalid gets the same page as any other, whatever is stored', async () => {
    const { request, queryOf, stop } = setUp();
    await stop();
    const changed = `${(await queryOf()).slice(0, -2)}AA`;
    const never = `tenant=${Buffer.from('nobody').toString('base64url')}&link=${'A'.repeat(60)}`;
    for (const method of ['GET', 'POST'])
      expect(await request(`${method} /opt-out`, changed, ONE_CLICK)).toEqual(await request('GET /opt-out', never));
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
    const { request, queryOf, reasonFor } = setUp();
    expect(await request('POST /opt-out', await queryOf(), body, isBase64Encoded)).toMatchObject({ statusCode: 200 });
    expect([await reasonFor(), await reasonFor('another')]).toEqual(['opted_out', undefined]);
  });

  it.each([
    undefined,
    'a=b',
    'List-Unsubscribe=No&note=One-Click',
    '--b\r\nContent-Disposition: form-data; name="note"\r\n\r\nList-Unsubscribe=One-Click\r\n--b--\r\n',
    `${ONE_CLICK}${'x'.repeat(4_096)}`,
  ])('needs the field of the button: without it, the page is shown again', async (body) => {
    const { request, queryOf, reasonFor } = setUp();
    const query = await queryOf();
    const { body: page } = await request('GET /opt-out', query);
    expect(await request('POST /opt-out', query, body)).toMatchObject({ statusCode: 400, body: page });
    expect(await reasonFor()).toBeUndefined();
  });

  it('and resuming them are audited once as changes of the recipient, without address, link and IP address', async () => {
    const { stop, resume, audited, recipient } = setUp();
    for (const change of [stop, stop, resume, resume]) expect(await change()).toMatchObject({ statusCode: 200 });
    const recorded = {
      target_id: mailboxHash(recipient),
      actor: { type: 'recipient' },
      request_id: 'request-1',
    };
    const entries = await audited();
    expect(entries).toMatchObject([
      { action: 'opt-out', ...recorded },
      { action: 'resume-email', ...recorded },
    ]);
    expect(JSON.stringify(entries)).not.toMatch(/oncall|example\.com|ip_address|link/);
  });

  it('is reported, also when it is repeated, and is not refused if that fails', async () => {
    const { stop, reported, queue, reasonFor } = setUp();
    queue.isDown = true;
    expect(await stop()).toMatchObject({ statusCode: 200 });
    expect(await reasonFor()).toBe('opted_out');
    expect(JSON.stringify(logged)).toContain('stop not reported');
    expect(JSON.stringify(logged)).not.toContain('oncall');
    queue.isDown = false;
    for (let time = 0; time < 2; time++) await stop();
    expect(reported).toMatchObject([{ reason: 'opted_out' }, { reason: 'opted_out' }]);
    expect(reported[0]).toEqual(reported[1]);
  });

  it('leaves neither address nor link in the log if a dependency fails', async () => {
    const { recipient, stops, queryOf } = setUp();
    const failing = { find: () => Promise.reject(new Error(`No ${recipient.address}`)) };
    const handler = createOptOutHandler({ optOutKeys: failing, stops, audits, reportStop: async () => undefined });
    const rawQueryString = await queryOf();
    expect(await handler(apiRequest({ routeKey: 'GET /opt-out', rawQueryString }))).toMatchObject({ statusCode: 503 });
    expect(logged).toHaveLength(1);
    expect(JSON.stringify(logged)).not.toMatch(new RegExp(`oncall|${rawQueryString.slice(-20)}`));
  });
});

it('resuming emails is refused after ten times on a UTC day, and stopping is not', async () => {
  const { stop, resume, reasonFor, wait } = setUp();
  for (let time = 0; time < 10; time++) {
    await stop();
    expect(await resume()).toMatchObject({ statusCode: 200 });
  }
  expect(await stop()).toMatchObject({ statusCode: 200 });
  const refused = await resume();
  expect(refused.statusCode).toBe(429);
  expect(Number(refused.headers?.['retry-after'])).toBeGreaterThan(43_000);
  expect(await reasonFor()).toBe('opted_out');
  wait(12 * 3_600_000);
  expect(await resume()).toMatchObject({ statusCode: 200 });
  expect(await reasonFor()).toBeUndefined();
});

it('the key of links is created once, by whichever function is first, and again a minute after its item was deleted', async () => {
  let nowMs = 0;
  const [one, other] = [1, 2].map(() => createOptOutKeys(client, 'accounts', () => nowMs));
  const [first] = await Promise.all([one?.current(), other?.current()]);
  expect(await other?.current()).toEqual(first);
  await client.send(new DeleteCommand({ TableName: 'accounts', Key: { pk: 'opt_out_keys' } }));
  expect([await other?.current(), await one?.find()]).toEqual([first, undefined]);
  nowMs += 60_001;
  const second = await other?.current();
  expect(second).not.toEqual(first);
  expect([await one?.current(), await one?.find()]).toEqual([second, second]);
});
