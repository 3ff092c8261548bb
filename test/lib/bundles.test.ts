import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import pLimit from 'p-limit';
import { beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { bundledInputs, bundleFunctions, bundleMetafile, bundling, functionNames } from '../../lib/bundles.ts';
import { notificationTypeIds } from '../../shared/contracts/notification-types.ts';
import { type FunctionName, senderName } from '../../shared/environment.ts';
import { firstEvent, LISTED_TOKEN_ID } from '../bench/support/first-event.ts';
import { lambdaContext } from '../support/api-request.ts';
import { environmentOf } from '../support/function-environment.ts';
import { validDetails } from '../support/notifications.ts';
import { OPT_OUT_KEY } from '../support/opt-outs.ts';
import { respondWith, startHttp } from '../support/servers.ts';
import { useStarted } from '../support/use-started.ts';

const ROOT = resolve(import.meta.dirname, '../..');

const bundles = useStarted(
  () => {
    const directory = mkdtempSync(join(tmpdir(), 'bundles-'));
    return { directory, of: bundleFunctions(directory) };
  },
  ({ directory }) => rmSync(directory, { recursive: true, force: true }),
);
const entryOf = (name: FunctionName) => join(bundles.of(name).directory, 'index.js');
const codeOf = (name: FunctionName) => readFileSync(entryOf(name), 'utf8');

/** Matches a file of a package. `home` is the package's directory, which ends with its `name`. */
const PACKAGE_FILE = /^(?<home>.*node_modules\/(?<name>(?:@[^/]+\/)?[^/]+))\//;

const lockfile = z
  .object({ packages: z.record(z.string(), z.object({ dev: z.boolean().default(false) })) })
  .parse(JSON.parse(readFileSync(resolve(ROOT, 'package-lock.json'), 'utf8')));

/** Returns whether a package is in `dependencies` or is a transitive dependency of one. */
const isProductionPackage = (home: string): boolean =>
  lockfile.packages[home.slice(home.indexOf('node_modules/'))]?.dev === false;

/**
 * Returns the inputs that must not be in a bundle: development code, schemas of responses, of which functions need only
 * the types, and packages that are not production dependencies.
 */
const forbiddenInputs = (inputs: readonly string[]): string[] =>
  inputs.filter((input) => {
    const home = PACKAGE_FILE.exec(input)?.groups?.home;
    return home === undefined
      ? !/^(functions|shared)\/(?!contracts\/responses\/)/.test(input)
      : !isProductionPackage(home);
  });

describe('function bundles', () => {
  it('exist for every file in functions/, and for no other function', () => {
    const entries = readdirSync(resolve(ROOT, 'functions'));
    expect(entries.toSorted()).toEqual(functionNames.map((name) => `${name}.ts`).toSorted());
  });

  it.each(functionNames)('contain only service code and production dependencies: %s', (name) => {
    expect(bundledInputs(name)).toContain(`functions/${name}.ts`);
    expect(forbiddenInputs(bundledInputs(name))).toEqual([]);
  });

  it('of webhooks contain neither summaries nor notices, and at most 80 files of the service with 7,500 lines', () => {
    const inputs = bundledInputs('send-webhook').filter((input) => !PACKAGE_FILE.test(input));
    expect(inputs.filter((input) => /summar|pipeline\/notices/.test(input))).toEqual([]);
    expect(inputs.length).toBeLessThanOrEqual(80);
    const lines = inputs.map((input) => readFileSync(resolve(ROOT, input), 'utf8').split('\n').length - 1);
    expect(lines.reduce((sum, count) => sum + count)).toBeLessThanOrEqual(7_500);
  });

  it.each(functionNames)(
    'require at run time only Node.js modules and the excluded credential providers: %s',
    (name) => {
      const required = [...codeOf(name).matchAll(/\brequire\("([^"]+)"\)/g)].map(([, module = '']) => module);
      expect(required.filter((module) => !isBuiltin(module) && !bundling.external.includes(module))).toEqual([]);
    },
  );

  it.each(functionNames)('import no module dynamically that imports others, which would all be wrapped: %s', (name) => {
    expect(importedDynamically(name)).toEqual([]);
  });
});

/** Returns the modules in a bundle that are imported dynamically and import others. */
const importedDynamically = (name: FunctionName): string[] => {
  const { inputs } = bundleMetafile();
  const importsOf = (path: string) => inputs[path]?.imports ?? [];
  return bundledInputs(name)
    .flatMap(importsOf)
    .filter(({ kind, path }) => kind === 'dynamic-import' && importsOf(path).length > 0)
    .map(({ path }) => path);
};

/**
 * The size of each bundle in KB, recorded with a release. Every cold start reads the bundle, so growth must be
 * deliberate.
 */
const SIZES_FILE = join(import.meta.dirname, 'bundle-sizes.json');
const UPDATE_COMMAND = 'RECORD_BUNDLE_SIZES=1 npx vitest run test/lib/bundles.test.ts';
const MAX_CHANGE = 0.1;

const isSender = (name: string): boolean => name.startsWith('send-');
const sizeKb = (name: FunctionName) => Math.round(statSync(entryOf(name)).size / 1_000);

describe('recorded bundle sizes', () => {
  let recorded: Record<string, number>;
  beforeAll(() => {
    if (process.env.RECORD_BUNDLE_SIZES) {
      const sizes = Object.fromEntries(functionNames.map((name) => [name, sizeKb(name)]));
      writeFileSync(SIZES_FILE, `${JSON.stringify(sizes, null, 2)}\n`);
    }
    recorded = z.record(z.string(), z.number()).parse(JSON.parse(readFileSync(SIZES_FILE, 'utf8')));
  });

  it('are those of functions of the stack', () => {
    expect(functionNames, `To update: ${UPDATE_COMMAND}`).toEqual(expect.arrayContaining(Object.keys(recorded)));
  });

  it.each(functionNames)(
    'differ from the bundle by at most 10%%, a new one from all others of its kind: %s',
    (name) => {
      const ofKind = Object.keys(recorded).filter((other) => isSender(other) === isSender(name));
      const expectedKb = (name in recorded ? [name] : ofKind).map((other) => recorded[other] ?? 0);
      const actualKb = sizeKb(name);
      const message = `${name} has ${actualKb} KB. If the change is intended: ${UPDATE_COMMAND}`;
      expect(actualKb, message).toBeGreaterThanOrEqual(Math.min(...expectedKb) * (1 - MAX_CHANGE));
      expect(actualKb, message).toBeLessThanOrEqual(Math.max(...expectedKb) * (1 + MAX_CHANGE));
    },
  );
});

/** Returns the directories of each package in a bundle, by package name. */
const packageDirectories = (name: FunctionName): Map<string, Set<string>> => {
  const directories = new Map<string, Set<string>>();
  for (const input of bundledInputs(name)) {
    const { home = '', name: library = '' } = PACKAGE_FILE.exec(input)?.groups ?? {};
    if (library) directories.set(library, (directories.get(library) ?? new Set()).add(home));
  }
  return directories;
};

describe('libraries in a function bundle', () => {
  it.each(functionNames)('appear in one version only: %s', (name) => {
    const duplicates = [...packageDirectories(name).values()].filter((directories) => directories.size > 1);
    expect(duplicates.map((directories) => [...directories])).toEqual([]);
  });

  it.each(functionNames)('use neither fetch nor dynamic import, which load undici: %s', (name) => {
    expect([...codeOf(name).matchAll(/.{0,40}\b(?:import|fetch)\s*\(.{0,40}/g)].map(([code]) => code)).toEqual([]);
  });
});

/**
 * Invokes a bundle's handler with each event in turn; prints the undici modules that the process has loaded and the
 * files that it has read asynchronously.
 */
const PROBE = `
  const [file, events, context] = process.argv.slice(1).map((text) => JSON.parse(text));
  const files = [];
  const { readFile } = require('node:fs/promises');
  require('node:fs/promises').readFile = (path, ...options) => {
    files.push(path);
    return readFile(path, ...options);
  };
  const { handler } = require(file);
  const handleAll = async () => {
    for (const event of events) await handler(event, { ...context, getRemainingTimeInMillis: () => 30_000 });
    const undici = process.moduleLoadList.filter((module) => module.includes('undici'));
    console.log(JSON.stringify({ undici, files }));
  };
  handleAll();
`;

const probeResult = z.object({ undici: z.array(z.string()), files: z.array(z.string()) });

const probe = async (file: string, events: unknown[], env: Record<string, string> = {}) => {
  const parameters = [file, events, lambdaContext].map((value) => JSON.stringify(value));
  const nodeArguments = ['--input-type=commonjs', '--eval', PROBE, ...parameters];
  const { stdout } = await promisify(execFile)(process.execPath, nodeArguments, { env });
  return probeResult.parse(JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? ''));
};

/** The response of the server to every request: an item with the attributes that the functions read from any table. */
const RESPONSE_BODY = (() => {
  const text = (S: string) => ({ S });
  const listedToken = {
    hash: text('0'.repeat(64)),
    id: text(LISTED_TOKEN_ID),
    role: text('creator'),
    label: text('ci'),
    created_at_ms: { N: '1' },
    expires_at_ms: { N: '9999999999000' },
  };
  const Item = {
    tenant: text('acme'),
    role: text('admin'),
    ttl: { N: '9999999999' },
    technical_contacts: { L: [text('ops@example.com')] },
    webhook_token: text('token'),
    webhook_secrets: { L: [text('whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz')] },
    tokens: { L: [{ M: listedToken }] },
    used: { N: '1' },
    changes: { N: '1' },
    current: text(OPT_OUT_KEY.toString('base64')),
  };
  return JSON.stringify({ Item, Attributes: Item });
})();

/** Returns events that make a function call its dependencies. A sender gets a message and a test. */
const eventsFor = (name: FunctionName, url: string): unknown[] => {
  const type = notificationTypeIds.find((id) => senderName(id) === name);
  const details = type && { ...validDetails[type], ...(type === 'webhook' && { url }) };
  return [firstEvent(name, url), ...(type ? [{ tenant: 'acme', type, details }] : [])];
};

it('cold starts and first calls neither load undici, which takes 10 to 20 ms, nor read configuration files, which takes 3 ms', async () => {
  const callers = new Set<string>();
  const respond = respondWith(200, { 'content-type': 'application/x-amz-json-1.0' }, RESPONSE_BODY);
  const server = await startHttp((request, response) => {
    callers.add(request.url?.split('/')[1] ?? '');
    respond(request, response);
  });
  const limit = pLimit(2);
  const probed = await limit.map(functionNames, async (name) => {
    const { href } = server.url(undefined, `/${name}`);
    return [name, await probe(entryOf(name), eventsFor(name, href), environmentOf(name, href))];
  });
  const nothing = { undici: [], files: [] };
  expect(Object.fromEntries(probed)).toEqual(Object.fromEntries(functionNames.map((name) => [name, nothing])));
  expect([...callers].toSorted()).toEqual(functionNames.filter((name) => name !== 'handle-unknown-route').toSorted());
});
