import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { close, listen, origin } from 'local-aws/http.ts';
import { beforeEach, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { root } from '../support/documents.ts';
import { until } from '../support/until.ts';
import { useStarted } from '../support/use-started.ts';
import { useStackWithCommandLine } from './command-line.ts';

const { stack, ops, runJson } = useStackWithCommandLine();

const examples = join(root, 'docs/examples');
const batch = z.looseObject({ Entries: z.array(z.looseObject({ Id: z.string(), MessageBody: z.string() })) });
/** Passes requests on to the AWS endpoint of the stack. */
const proxy = useStarted(
  async () => {
    const state = { bodies: [] as string[][], failures: 0 };
    const server = createServer(async (request, response) => {
      const { Entries: received } = batch.parse(JSON.parse(await text(request)));
      state.bodies.push(received.map(({ MessageBody }) => MessageBody));
      // SQS accepts all entries of the first batches but one, and reports that one as its own failure.
      const failed = state.failures-- > 0 ? received.at(-1) : undefined;
      const isRefused = ({ MessageBody }: { MessageBody: string }) => MessageBody.includes('refused');
      const Failed = received.flatMap((entry) => {
        const { Id } = entry;
        if (isRefused(entry)) return { Id, SenderFault: true, Code: 'Refused', Message: 'Never.' };
        return entry === failed ? { Id, SenderFault: false, Code: 'InternalError', Message: 'Try again.' } : [];
      });
      const Entries = received.filter((entry) => entry !== failed && !isRefused(entry));
      const { 'x-amz-target': target = '', 'content-type': type = '', authorization = '' } = request.headers;
      const forwarded = await fetch(stack.aws_endpoint, {
        method: 'POST',
        headers: { 'x-amz-target': String(target), 'content-type': type, authorization },
        body: JSON.stringify({ QueueUrl: stack.alarm_queue_url, Entries }),
      });
      const result = z.looseObject({}).parse(await forwarded.json());
      response.writeHead(forwarded.status, { 'content-type': type });
      response.end(JSON.stringify({ ...result, Failed }));
    });
    return { state, url: origin(await listen(server)), stop: () => close(server) };
  },
  ({ stop }) => stop(),
);
beforeEach(() => {
  proxy.state.bodies = [];
});

const delivered = z.array(z.looseObject({ event_id: z.string() }));

/** Versions of boto3 before 1.29 use the query protocol, which the local stack does not have. */
const BOTO3 = 'import boto3, sys; sys.exit(tuple(map(int, boto3.__version__.split(".")[:2])) < (1, 29))';

const hasBoto3 = (): boolean => spawnSync('python3', ['-c', BOTO3]).status === 0;

/** How to run the examples; empty if one cannot run. The variables contain how to run compiled programs. */
const { PRODUCER_GO = '', PRODUCER_JAVA = '' } = process.env;
const commands = new Map([
  ['send-events.mts', () => [process.execPath, join(examples, 'send-events.mts')]],
  ['send_events.py', () => (hasBoto3() ? ['python3', join(examples, 'send_events.py')] : [])],
  ['send-events.go', () => PRODUCER_GO.split(' ').filter(Boolean)],
  ['SendEvents.java', () => PRODUCER_JAVA.split(' ').filter(Boolean)],
]);

/** Runs an example with these lines. @returns its exit code, and the lines that it prints */
const send = async (example: string, lines: readonly string[], env: Record<string, string> = {}) => {
  const [command = '', ...parameters] = commands.get(example)?.() ?? [];
  const { pathname } = new URL(stack.alarm_queue_url);
  const child = spawn(command, parameters, {
    env: {
      PATH: process.env.PATH,
      ...stack.aws_environment,
      AWS_ENDPOINT_URL: proxy.url,
      QUEUE_URL: `${proxy.url}${pathname}`,
      ...env,
    },
  });
  child.stdin.end(lines.map((line) => `${line}\n`).join(''));
  const closed = once(child, 'close');
  const [out] = await Promise.all([text(child.stdout), text(child.stderr)]);
  await closed;
  return { code: child.exitCode, out: out.split('\n').filter((line) => line !== '') };
};

const someEvents = async (prefix: string, count: number, rest: object = {}): Promise<string[]> => {
  const event = z.looseObject({}).parse(JSON.parse((await ops('event example')).out));
  return Array.from({ length: count }, (_, index) =>
    JSON.stringify({ ...event, event_id: `${prefix}-${index}`, ...rest }),
  );
};

describe.each([...commands.keys()])('docs/examples/%s', (file) => {
  beforeEach(({ skip }) => skip(commands.get(file)?.().length === 0, 'its compiler or SDK is missing'));

  it('logs the message ID of every event that SQS accepts, after repeating what SQS failed to accept', async () => {
    const events = await someEvents(`${file}-sent`, 12, { log_entry_id: '\ufffe😀', number: 1.5 });
    const withLongNumber = events.map((event) => event.replace('1.5', '12345678901234567890.10'));
    proxy.state.failures = 1;
    const { code, out } = await send(file, ['', ...withLongNumber]);
    const { bodies } = proxy.state;
    expect(bodies.map(({ length }) => length)).toEqual([10, 2, 1]);
    expect(bodies[2]).toEqual([bodies[0]?.[9]]);
    expect(bodies[0]?.[0]).toContain('12345678901234567890.10');
    const ids = withLongNumber.map((event) => z.object({ event_id: z.string() }).parse(JSON.parse(event)).event_id);
    expect(out.toSorted()).toEqual(
      ids.toSorted().map((id) => expect.stringMatching(new RegExp(`^sent ${id} [0-9a-f-]{36}$`))),
    );
    expect(code).toBe(0);
    await until(async () => {
      const found = await runJson(delivered, 'deliveries --tenant acme --limit 100');
      return ids.every((id) => found.some(({ event_id }) => event_id === id));
    });
  });

  it('sends the valid lines, reports every other one, and exits with 1', async () => {
    const large = await someEvents(`${file}-large`, 4, { padding: 'x'.repeat(250_000) });
    const [tooLarge = ''] = await someEvents(`${file}-too-large`, 1, { padding: 'x'.repeat(262_144) });
    const [otherTenant = ''] = await someEvents(`${file}-tenant`, 1, { tenant_id: 'not a tenant' });
    const [refused = ''] = await someEvents(`${file}-refused`, 1);
    const [valid = ''] = await someEvents(`${file}-valid`, 1);
    const invalid = [valid.replace('{', '{"x":NaN,'), '{"tenant_id":"acme"}', otherTenant, '7', tooLarge, '{'];
    const { code, out } = await send(file, [...invalid, refused, ...large]);
    expect(proxy.state.bodies.map(({ length }) => length)).toEqual([4, 1]);
    expect(out.filter((line) => !line.startsWith('sent '))).toEqual([
      'rejected line 1 InvalidJson',
      'rejected line 2 NoEventId',
      'rejected line 3 NoTenantId',
      expect.stringMatching(/^rejected line 4 (NoEventId|InvalidJson)$/),
      'rejected line 5 TooLarge',
      'rejected line 6 InvalidJson',
      'rejected line 7 Refused',
    ]);
    expect([code, out.filter((line) => line.startsWith('sent ')).length]).toEqual([1, 4]);
  });

  it('lists what it could not send, and exits with 1', async () => {
    const unavailable = { AWS_ENDPOINT_URL: 'http://127.0.0.1:1', QUEUE_URL: 'http://127.0.0.1:1/queue' };
    const events = await someEvents(`${file}-kept`, 2);
    expect(await send(file, events, { ...unavailable, AWS_MAX_ATTEMPTS: '1' })).toEqual({
      code: 1,
      out: [`unsent line 1 ${file}-kept-0`, `unsent line 2 ${file}-kept-1`],
    });
  });
});
