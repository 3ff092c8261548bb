import { existsSync, globSync } from 'node:fs';
import { posix, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { openApiDocument } from '../../bin/openapi/openapi-document.ts';
import { parseSettings, reservedConcurrency, settingNames } from '../../lib/settings.ts';
import { endpointNames, endpoints } from '../../shared/contracts/endpoints.ts';
import { errorStatus } from '../../shared/contracts/errors.ts';
import { notificationTypeIds } from '../../shared/contracts/notification-types.ts';
import { attemptResults, deliveryReasons, deliveryStatuses } from '../../shared/contracts/outcomes.ts';
import { failed } from '../../shared/domain/attempt-outcome.ts';
import { checkEvent } from '../../shared/domain/planned-event.ts';
import { MAX_AGE_MS, MAX_ATTEMPTS, RETRY_HOURS, retryDelayMs } from '../../shared/domain/retry-schedule.ts';
import { HOUR_MS } from '../../shared/domain/time.ts';
import { SEND_TIMEOUT_MS } from '../../shared/domain/timeouts.ts';
import { codeBlocks, readDocument as read, root } from '../support/documents.ts';

const documents = globSync(['*.md', '{docs,bin/local-aws}/**/*.md'], {
  cwd: root,
  exclude: (path) => path.includes('node_modules'),
});

const sources = globSync(['{.github,bin,functions,lib,shared,test}/**/*.{ts,tsx,js,yml,json}', 'biome.json'], {
  cwd: root,
  exclude: (path) => path.includes('node_modules'),
});

/** The numbers up to ten. */
const words = ['no', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten'];

/** The delays before the attempts after the first one, as `2 min`. */
const retryDelays = Array.from({ length: MAX_ATTEMPTS - 1 }, (_, index) => {
  const seconds = (retryDelayMs(index + 1, failed('transient', 'timeout', ''), 1, () => 0) ?? 0) / 1000;
  if (seconds < 60) return `${seconds} s`;
  return seconds < 3_600 ? `${seconds / 60} min` : `${seconds / 3_600} h`;
});
const listed = (texts: readonly string[]): string => `${texts.slice(0, -1).join(', ')} and ${texts.at(-1)}`;

/** The text outside code blocks. */
const prose = (text: string): string => text.replace(/^ *```.*?^ *```$/gms, '');

/** The text of a section, by its heading with its hash signs, up to the next heading. */
const section = (text: string, heading: string): string => text.split(`\n${heading}\n`)[1]?.split(/^#/m)[0] ?? '';

/** The paths of the operations that extend the interface, with `{id}` for their parameter. */
const extensions = endpointNames.flatMap((name) => {
  const { method, path } = endpoints[name];
  const operation = openApiDocument().paths[path]?.[method.toLowerCase()];
  return Object(operation)['x-extension'] === true ? [`${method} ${path.replace(/\{\w+\}/, '{id}')}`] : [];
});

/** The anchors that GitHub gives to the headings of a document. */
const anchorsOf = (file: string): string[] =>
  [...prose(read(file)).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\- _]/gu, '')
      .replaceAll(' ', '-'),
  );

const isResolved = (file: string, link: string): boolean => {
  const [path = '', anchor] = link.split('#');
  const target = path ? posix.join(posix.dirname(file), path) : file;
  return existsSync(resolve(root, target)) && (anchor === undefined || anchorsOf(target).includes(anchor));
};

it('docs/operations.md has an entry for every setting, and no other', () => {
  const entries = section(read('docs/operations.md'), '## Settings').matchAll(/^- (`.*?): /gm);
  const named = [...entries].flatMap(([, head = '']) =>
    [...head.replace(/\(.*?\)/g, '').matchAll(/`(\w+)`/g)].map(([, name]) => name),
  );
  expect(named.toSorted()).toEqual([...settingNames, 'stage', 'stackName', 'account', 'region'].toSorted());
});

/** Facts of the code in documents, with its constants, as they begin a sentence or not. */
const facts: readonly (readonly [document: string, text: string])[] = [
  ['README.md', `${words[MAX_ATTEMPTS]} attempts over about ${RETRY_HOURS} hours`],
  ['docs/api.md', `\`timeout\`: no response within ${SEND_TIMEOUT_MS / 1000} seconds`],
  [
    'docs/api.md',
    `A round has ${words[MAX_ATTEMPTS]} attempts: at once, then after ${listed(retryDelays)}, plus up to`,
  ],
  ['docs/api.md', `It ends after ${MAX_AGE_MS / HOUR_MS} hours`],
  ['docs/runbook.md', `Retries last about ${RETRY_HOURS} hours`],
  ['docs/operations.md', `${reservedConcurrency(parseSettings({}))} by default; needs a quota`],
];

it.each(facts)('%s says what the code does: %s', (document, text) => {
  expect(read(document).toLowerCase()).toContain(text.toLowerCase());
});

it('no other place of the documents repeats how often and how long a delivery is tried', () => {
  const counts = `(?:${words[MAX_ATTEMPTS]}|${MAX_ATTEMPTS}) attempts|${RETRY_HOURS} (?:h|hours)`;
  const repeated = new RegExp(`(?<![\\w.])(?:${counts})\\b`, 'gi');
  const found = documents.flatMap((file) =>
    file === 'CHANGELOG.md' ? [] : [...read(file).matchAll(repeated)].map(([text]) => `${file}: ${text.toLowerCase()}`),
  );
  const known = facts.flatMap(([file, fact]) =>
    [...fact.matchAll(repeated)].map(([text]) => `${file}: ${text.toLowerCase()}`),
  );
  expect(found.toSorted()).toEqual(known.toSorted());
});

it('docs/operations.md names every kind of record that an export of a tenant contains', () => {
  const kinds = [...read('bin/ops/tenant/export.ts').matchAll(/\bkind: '(\w+)'/g)].flatMap(([, kind = '']) => kind);
  expect(kinds).toContain('notification');
  const text = section(read('docs/operations.md'), '## Data of one tenant');
  expect(kinds.filter((kind) => !text.includes(`\`${kind}\``))).toEqual([]);
});

it('docs/api.md names every notification type and every error type', () => {
  const api = read('docs/api.md');
  for (const name of [...notificationTypeIds, ...Object.keys(errorStatus)]) expect(api).toContain(`\`${name}\``);
});

it('docs/api.md lists every operation, the extensions of the interface apart', () => {
  const [first = '', second = ''] = section(read('docs/api.md'), '## Operations').split('\nExtensions:\n');
  const operationsIn = (text: string) => [...text.matchAll(/^- `([A-Z]+ \/[^`]*)`/gm)].map(([, name]) => name);
  const all = endpointNames.map(
    (name) => `${endpoints[name].method} ${endpoints[name].path.replace(/\{\w+\}/, '{id}')}`,
  );
  expect(operationsIn(second).toSorted()).toEqual(extensions.toSorted());
  expect(operationsIn(first).toSorted()).toEqual(all.filter((name) => !extensions.includes(name)).toSorted());
});

it('docs/api.md explains every delivery status, attempt result and reason, and no other', () => {
  const names = (heading: string): string[] =>
    [...section(read('docs/api.md'), heading).matchAll(/^- `(\w+)`: /gm)].flatMap(([, name = '']) => name);
  expect(names('### Statuses').toSorted()).toEqual(deliveryStatuses.toSorted());
  expect(names('### Reasons').toSorted()).toEqual(deliveryReasons.toSorted());
  expect(names('### Attempts')).toEqual(expect.arrayContaining([...attemptResults]));
});

it('docs/producers.md shows an alarm event that the service accepts', () => {
  const events = codeBlocks(read('docs/producers.md'), 'json').filter((code) => code.includes('"notification_plan"'));
  expect(events.map((code) => checkEvent(JSON.parse(code), Date.now()))).toEqual([{ errors: [], warnings: [] }]);
});

it.each([
  { heading: '### Add a notification type', maxFiles: 12, names: { type: 'webhook' } },
  { heading: '### Add an endpoint', maxFiles: 8, names: { name: 'list-tokens', object: 'tokens' } },
])('CONTRIBUTING.md lists at most $maxFiles files, those of an existing one, below: $heading', (list) => {
  const rows = section(read('CONTRIBUTING.md'), list.heading).matchAll(/^(\d+)\. `([^`]+)`/gm);
  const files = [...rows].map(([, number, path = '']) => ({ number: Number(number), path }));
  expect(files).not.toEqual([]);
  expect(files.length).toBeLessThanOrEqual(list.maxFiles);
  expect(files.map(({ number }) => number)).toEqual(files.map((_, index) => index + 1));
  const paths = files.map(({ path }) =>
    Object.entries(list.names).reduce((text, [name, value]) => text.replace(`<${name}>`, value), path),
  );
  expect(paths.filter((path) => !existsSync(resolve(root, path)))).toEqual([]);
});

it('CONTRIBUTING.md has each npm script in its list of commands with their times', () => {
  const { scripts } = z.object({ scripts: z.record(z.string(), z.unknown()) }).parse(JSON.parse(read('package.json')));
  const rows = section(read('CONTRIBUTING.md'), '## Run tests').matchAll(/^- (`.*`) \(\d+ (?:s|minutes?)\): /gm);
  const commands = [...rows].flatMap(([, cell = '']) => [...cell.matchAll(/`npm (?:run )?([\w:-]+)`/g)]);
  expect(commands.map(([, name]) => name).toSorted()).toEqual(Object.keys(scripts).toSorted());
});

describe.each(documents)('%s', (file) => {
  it('has only links that resolve', () => {
    const links = [...prose(read(file)).matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, link = '']) => link);
    const local = links.filter((link) => !link.startsWith('https://'));
    expect(local.filter((link) => !isResolved(file, link))).toEqual([]);
  });

  it('has only valid JSON in its JSON examples', () => {
    for (const code of codeBlocks(read(file), 'json')) expect(() => JSON.parse(code)).not.toThrow();
  });
});

it('the code refers only to documents and headings that exist', () => {
  const references = sources.flatMap((source) =>
    [...read(source).matchAll(/(?<![\w/])(?:docs\/[\w/-]+|[A-Z]+)\.md(?:#[\w-]+)?/g)].map(([link]) => ({
      source,
      link,
    })),
  );
  expect(references.length).toBeGreaterThan(100);
  expect(references.filter(({ link }) => !isResolved('README.md', link))).toEqual([]);
});
