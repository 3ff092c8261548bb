import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { close, listen, origin } from 'local-aws/http.ts';
import { beforeEach, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { codeBlocks, readDocument, root } from '../support/documents.ts';
import { until } from '../support/until.ts';
import { useStarted } from '../support/use-started.ts';
import { useStackWithCommandLine } from './command-line.ts';

const { stack, ops, runJson } = useStackWithCommandLine();

/** It has the packages of the repository, such as the AWS SDK. */
const directory = useStarted(
  () => {
    const path = mkdtempSync(join(tmpdir(), 'producers-'));
    symlinkSync(join(root, 'node_modules'), join(path, 'node_modules'));
    writeFileSync(join(path, 'package.json'), '{"type":"module"}');
    return { path };
  },
  ({ path }) => rmSync(path, { recursive: true }),
);

const document = readDocument('docs/producers.md');
const batch = z.looseObject({ Entries: z.array(z.looseObject({ Id: z.string(), MessageBody: z.string() })) });
/** Passes requests on to the AWS endpoint of the stack. */
const proxy = useStarted(
  async () => {
    const state = { bodies: [] as string[][], failures: 0 };
    const server = createServer(async (request, response) => {
      const { Entries } = batch.parse(JSON.parse(await text(request)));
      state.bodies.push(Entries.map(({ MessageBody }) => MessageBody));
      // SQS accepts all entries of the first batches but one, and reports that one as its own failure.
      const failed = state.failures-- > 0 ? Entries.pop() : undefined;
      const { 'x-amz-target': target = '', 'content-type': type = '', authorization = '' } = request.headers;
      const forwarded = await fetch(stack.aws_endpoint, {
        method: 'POST',
        headers: { 'x-amz-target': String(target), 'content-type': type, authorization },
        body: JSON.stringify({ QueueUrl: stack.alarm_queue_url, Entries }),
      });
      const result = z.looseObject({}).parse(await forwarded.json());
      const Failed = [{ Id: failed?.Id, SenderFault: false, Code: 'InternalError', Message: 'Try again.' }];
      response.writeHead(forwarded.status, { 'content-type': type });
      response.end(JSON.stringify(failed ? { ...result, Failed } : result));
    });
    return { state, url: origin(await listen(server)), stop: () => close(server) };
  },
  ({ stop }) => stop(),
);
beforeEach(() => {
  proxy.state.bodies = [];
});

const delivered = z.array(z.looseObject({ event: z.string() }));

/** Versions of boto3 before 1.29 use the query protocol, which the local stack does not have. */
const BOTO3 = 'import boto3, sys; sys.exit(tuple(map(int, boto3.__version__.split(".")[:2])) < (1, 29))';

/** The examples that a test can run. */
const examples = {
  ts: { file: 'send-events.ts', command: process.execPath, canRun: () => true },
  python: {
    file: 'send_events.py',
    command: 'python3',
    canRun: () => spawnSync('python3', ['-c', BOTO3]).status === 0,
  },
};
type Language = keyof typeof examples;

/** Runs an example with these events. @returns the lines that it prints */
const send = async (
  language: Language,
  events: readonly object[],
  env: Record<string, string> = {},
): Promise<string[]> => {
  const { file, command } = examples[language];
  const path = join(directory.path, file);
  writeFileSync(path, codeBlocks(document, language)[0] ?? '');
  const { pathname } = new URL(stack.alarm_queue_url);
  const child = spawn(command, [path], {
    env: {
      PATH: process.env.PATH,
      ...stack.aws_environment,
      AWS_ENDPOINT_URL: proxy.url,
      QUEUE_URL: `${proxy.url}${pathname}`,
      ...env,
    },
  });
  child.stdin.end(events.map((event) => `${JSON.stringify(event)}\n`).join(''));
  const closed = once(child, 'close');
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
  await closed;
  if (child.exitCode !== 0) throw new Error(`The example exited with ${child.exitCode}: ${err}`);
  return out.split('\n').filter((line) => line !== '');
};

const someEvents = async (prefix: string, count: number, rest: object = {}) => {
  const event = z.looseObject({}).parse(JSON.parse((await ops('event example')).out));
  return Array.from({ length: count }, (_, index) => ({ ...event, event_id: `${prefix}-${index}`, ...rest }));
};

describe.each(['ts', 'python'] as const)('the example of docs/producers.md in %s', (language) => {
  beforeEach(({ skip }) => skip(!examples[language].canRun(), 'boto3 is missing or too old'));

  it('sends batches within the limits, repeats what SQS fails to accept, and reports the rest', async () => {
    const sent = await someEvents(`${language}-sent`, 12, { log_entry_id: '\ufffe😀' });
    const rejected = await someEvents(`${language}-rejected`, 1, { tenant_id: 'not a tenant' });
    const large = await someEvents(`${language}-large`, 2, { padding: 'x'.repeat(600_000) });
    const tooLarge = await someEvents(`${language}-too-large`, 1, { padding: 'x'.repeat(1_000_000) });
    proxy.state.failures = 1;
    expect(await send(language, [...sent, ...rejected, ...large, ...tooLarge])).toEqual([
      `rejected ${language}-too-large-0 TooLarge`,
      `rejected ${language}-rejected-0 InvalidParameterValue`,
    ]);
    const { bodies } = proxy.state;
    expect(bodies.map(({ length }) => length)).toEqual([10, 4, 1, 1]);
    expect(bodies[3]).toEqual([bodies[0]?.[9]]);
    const ids = [...sent, ...large].map(({ event_id }) => event_id);
    await until(async () => {
      const found = await runJson(delivered, 'deliveries --tenant acme --limit 100');
      return ids.every((id) => found.some(({ event }) => event === id));
    });
  });

  it('keeps what it cannot send', async () => {
    const unavailable = { AWS_ENDPOINT_URL: 'http://127.0.0.1:1', QUEUE_URL: 'http://127.0.0.1:1/queue' };
    const events = await someEvents(`${language}-kept`, 2);
    expect(await send(language, events, { ...unavailable, AWS_MAX_ATTEMPTS: '1' })).toEqual([
      `unsent ${language}-kept-0`,
      `unsent ${language}-kept-1`,
    ]);
  });
});

describe('event load', () => {
  const create = async (respond: number, metadata: Record<string, string>): Promise<string> => {
    const url = `${stack.inbox_url}/webhooks/acme?respond=${respond}`;
    const response = await fetch(`${stack.base_url}/notifications`, {
      method: 'POST',
      headers: { 'x-auth-token': stack.tokens.admin },
      body: JSON.stringify({ label: 'Load', type: 'webhook', details: { url }, metadata }),
    });
    return response.headers.get('location')?.split('/').at(-1) ?? '';
  };

  it('sends at a rate, waits for all deliveries, and reports their latency', async () => {
    const id = await create(200, { load_test: 'true' });
    const { code, out } = await ops(`event load ${id} --tenant acme --rate 12 --seconds 2`);
    expect([code, out]).toEqual([
      0,
      expect.stringMatching(
        /^24 events in \d+\.\d s, 0 not accepted by SQS: 24 delivered\.\nLatency: p50 \d+ ms, p99 \d+ ms, maximum \d+ ms\.\n$/,
      ),
    ]);
  });

  it('fails if alerts are not delivered', async () => {
    const id = await create(410, { load_test: 'true' });
    const { code, out } = await ops(`--json event load ${id} --tenant acme --rate 2 --seconds 1`);
    expect([code, JSON.parse(out)]).toEqual([
      1,
      {
        sent: 2,
        not_accepted: 0,
        errors: [],
        deliveries: { failed: 2 },
        latency_ms: null,
        seconds: expect.any(Number),
      },
    ]);
  });

  it('sends nothing to other notifications', async () => {
    const id = await create(200, {});
    for (const other of [id, 'ntTechnicalContactsEmail', 'ntUnknown']) {
      const { code, err } = await ops(`event load ${other} --tenant acme`);
      expect([code, err]).toEqual([1, expect.stringContaining('"load_test":"true" in its metadata')]);
    }
    expect(await runJson(delivered, `deliveries --tenant acme --notification ${id}`)).toEqual([]);
  });
});
