import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import pLimit from 'p-limit';
import { afterAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { bundledInputs, bundleFunctions, functionNames } from '../../lib/bundles.ts';
import { notificationTypeIds } from '../../shared/contracts/notification-types.ts';
import { emailTags } from '../../shared/domain/email-event.ts';
import { DEFAULT_NOTIFICATION_ID } from '../../shared/domain/notification-id.ts';
import { newToken } from '../../shared/domain/token.ts';
import { environments, type FunctionName, senderName } from '../../shared/environment.ts';
import { apiRequest, lambdaContext } from '../support/api-request.ts';
import { alarmEvent } from '../support/events.ts';
import { validDetails, webhookNotification } from '../support/notifications.ts';
import { respondWith, startHttp } from '../support/servers.ts';
import { sqsMessage } from '../support/sqs-message.ts';

const directory = mkdtempSync(join(tmpdir(), 'bundles-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const bundleOf = bundleFunctions(directory);
const entryOf = (name: FunctionName) => join(bundleOf(name), 'index.js');
const codeOf = (name: FunctionName) => readFileSync(entryOf(name), 'utf8');

describe('the bundles', () => {
  it('are one for each file in functions/, and each function has its file', () => {
    const entries = readdirSync(resolve(import.meta.dirname, '../../functions'));
    expect(entries.toSorted()).toEqual(functionNames.map((name) => `${name}.ts`).toSorted());
  });

  it.each(functionNames)('are CommonJS with a handler: %s', (name) => {
    expect(codeOf(name)).toMatch(/handler/);
    expect(codeOf(name)).toMatch(/module\.exports/);
  });

  it('hold the AWS SDK, and nothing that is only in development', () => {
    const modules = /require\("(?!node:)([^"]+)"\)/g;
    for (const name of functionNames) {
      const required = [...codeOf(name).matchAll(modules)].map(([, module = '']) => module);
      const known = /^(@aws-sdk\/(credential-provider(-[\w-]+|s)|client-(sso|sts)).*|[a-z_0-9]+(\/[a-z]+)?)$/;
      for (const module of required) expect(module).toMatch(known);
    }
  });
});

/** KB of each bundle: every one is read at each cold start, so that growth is a decision and not an accident. */
const RECORD = join(import.meta.dirname, 'bundle-sizes.json');
const RENEWAL = 'RECORD_BUNDLE_SIZES=1 npx vitest run test/lib/bundles.test.ts';
const MOST_CHANGE = 0.1;

const sizeOf = (name: FunctionName) => Math.round(statSync(entryOf(name)).size / 1_000);

if (process.env.RECORD_BUNDLE_SIZES) {
  const sizes = Object.fromEntries(functionNames.map((name) => [name, sizeOf(name)]));
  writeFileSync(RECORD, `${JSON.stringify(sizes, null, 2)}\n`);
}
const recorded = z.record(z.string(), z.number()).parse(JSON.parse(readFileSync(RECORD, 'utf8')));

describe('the record of sizes', () => {
  it('holds each function and no other', () => {
    expect(Object.keys(recorded).toSorted(), `To renew it: ${RENEWAL}`).toEqual(functionNames.toSorted());
  });

  it.each(functionNames)('is no more than a tenth away from the bundle: %s', (name) => {
    const [now, before = 0] = [sizeOf(name), recorded[name]];
    const advice = `${name} has ${now} KB, recorded are ${before} KB. If that is meant: ${RENEWAL}`;
    expect(Math.abs(now - before), advice).toBeLessThanOrEqual(before * MOST_CHANGE);
  });
});

/** A file of a package: the package's directory, which ends with its name. */
const PACKAGE_FILE = /^(?<home>.*node_modules\/(?<name>(?:@[^/]+\/)?[^/]+))\//;

/** The directories of the packages that a bundle holds code of, by the packages' names. */
const packagesOf = (name: FunctionName): Map<string, Set<string>> => {
  const homes = new Map<string, Set<string>>();
  for (const input of bundledInputs(name)) {
    const { home = '', name: library = '' } = PACKAGE_FILE.exec(input)?.groups ?? {};
    if (library) homes.set(library, (homes.get(library) ?? new Set()).add(home));
  }
  return homes;
};

describe('the libraries in a bundle', () => {
  it.each(functionNames)('are there once, not in two versions: %s', (name) => {
    const copies = [...packagesOf(name).values()].filter((homes) => homes.size > 1);
    expect(copies.map((homes) => [...homes])).toEqual([]);
  });

  it.each(functionNames)('are none that is made for fetch, which is undici: %s', (name) => {
    expect(bundledInputs(name)).toContain(`functions/${name}.ts`);
    const libraries = [...packagesOf(name).keys()];
    expect(libraries.filter((library) => /undici|fetch|axios|^(got|ky|jose)$/.test(library))).toEqual([]);
  });

  it.each(functionNames)('neither call fetch nor import on demand, which loads undici: %s', (name) => {
    expect([...codeOf(name).matchAll(/.{0,40}\b(?:import|fetch)\s*\(.{0,40}/g)].map(([code]) => code)).toEqual([]);
  });
});

/** Lets a bundle take events, one after the other, in a process of its own, which says last what it has loaded of undici. */
const PROBE = `
  const [file, events, context] = process.argv.slice(1).map((text) => JSON.parse(text));
  const { handler } = require(file);
  const handleAll = async () => {
    for (const event of events) await handler(event, { ...context, getRemainingTimeInMillis: () => 30_000 });
    console.log(JSON.stringify(process.moduleLoadList.filter((module) => module.includes('undici'))));
  };
  handleAll();
`;

const undiciLoadedBy = async (file: string, events: unknown[], env: Record<string, string> = {}) => {
  const given = [file, events, lambdaContext].map((value) => JSON.stringify(value));
  const options = ['--input-type=commonjs', '--eval', PROBE, ...given];
  const { stdout } = await promisify(execFile)(process.execPath, options, { env });
  return z.array(z.string()).parse(JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? ''));
};

/** What every variable of the functions holds here: all that they call is one server. */
const environmentOf = (name: FunctionName, url: string): Record<string, string> => {
  const given: Record<string, string> = {
    TOKEN_CACHE_SECONDS: '0',
    NOTIFICATIONS_PER_TENANT: '1000',
    TESTS_PER_TENANT_PER_DAY: '1',
    DAILY_LIMIT: '1',
    RETRY_DELAY_SCALE: '1',
    DEAD_LETTER_EMAIL: 'false',
    LINK_SCHEME: 'https',
    EGRESS_ALLOW: '127.0.0.0/8',
    SMS_COUNTRIES: '',
    SENDER_QUEUES: JSON.stringify(Object.fromEntries(notificationTypeIds.map((id) => [id, url]))),
    SENDER_FUNCTIONS: JSON.stringify(Object.fromEntries(notificationTypeIds.map((id) => [id, senderName(id)]))),
  };
  return {
    AWS_ENDPOINT_URL: url,
    AWS_REGION: 'local-1',
    AWS_ACCESS_KEY_ID: 'none',
    AWS_SECRET_ACCESS_KEY: 'none',
    ...Object.fromEntries(Object.keys(environments[name].shape).map((variable) => [variable, given[variable] ?? url])),
  };
};

/** What the server answers to everything: an item with all that is looked for in a table. */
const ANSWER = (() => {
  const text = (S: string) => ({ S });
  const Item = {
    tenant: text('acme'),
    role: text('admin'),
    ttl: { N: '9999999999' },
    technical_contacts: { L: [text('ops@example.com')] },
    webhook_token: text('token'),
    webhook_secrets: { L: [text('whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz')] },
  };
  return JSON.stringify({ Item, Attributes: Item });
})();

/** Events by which a function calls all that it calls: a sender takes messages, and tests, which go out at once. */
const eventsOf = (name: FunctionName, url: string): unknown[] => {
  const messages = { Records: [sqsMessage()] };
  const type = notificationTypeIds.find((id) => senderName(id) === name);
  if (type) {
    const details = { ...validDetails[type], ...(type === 'webhook' && { url }) };
    return [messages, { kind: 'test', tenant: 'acme', type, details }];
  }
  if (name === 'dispatch-alarm-events') return [messages];
  if (name === 'record-email-events') {
    const { notification, tenant, event } = emailTags(alarmEvent(), DEFAULT_NOTIFICATION_ID);
    const mail = { messageId: 'message-1', tags: { notification: [notification], tenant: [tenant], event: [event] } };
    const body = JSON.stringify({ source: 'aws.ses', detail: { eventType: 'Bounce', mail } });
    return [{ Records: [sqsMessage({ body })] }];
  }
  const headers = { 'content-type': 'application/json', 'x-auth-token': newToken() };
  return [apiRequest({ headers, body: JSON.stringify(webhookNotification()) })];
};

describe('a cold start and its first calls', () => {
  it('never load undici, which takes 10 to 20 ms', async () => {
    const callers = new Set<string>();
    const answer = respondWith(200, { 'content-type': 'application/x-amz-json-1.0' }, ANSWER);
    const server = await startHttp((request, response) => {
      callers.add(request.url?.split('/')[1] ?? '');
      answer(request, response);
    });
    const atOnce = pLimit(2);
    const loaded = await atOnce.map(functionNames, async (name) => {
      const { href } = server.url(undefined, `/${name}`);
      return [name, await undiciLoadedBy(entryOf(name), eventsOf(name, href), environmentOf(name, href))];
    });
    expect(Object.fromEntries(loaded)).toEqual(Object.fromEntries(functionNames.map((name) => [name, []])));
    expect([...callers].toSorted()).toEqual(functionNames.filter((name) => name !== 'handle-unknown-route').toSorted());
  });

  it('would be seen to load it', async () => {
    const file = join(directory, 'fetching.js');
    writeFileSync(file, 'exports.handler = () => fetch("data:,");');
    expect(await undiciLoadedBy(file, [{}])).not.toEqual([]);
  });
});
