import { execFile } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { type Bundle, bundleFunctions } from '../../lib/bundles.ts';
import { newToken } from '../../shared/domain/token.ts';
import type { FunctionName } from '../../shared/environment.ts';
import { apiRequest, lambdaContext } from '../support/api-request.ts';
import { environmentOf } from '../support/function-environment.ts';
import { respondWith, startHttp } from '../support/servers.ts';
import { stackOutputs } from './aws-stub.ts';
import { commandLine, useDirectory } from './command-line.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const directory = useDirectory();
const ops = commandLine(directory);
let bundleOf: (name: FunctionName) => Bundle;
beforeAll(() => {
  bundleOf = bundleFunctions(directory.path);
});

/** Runs a handler as Lambda does, and prints an exception as Lambda logs it. */
const RUN = `
  const [file, event, context] = process.argv.slice(1).map((text) => JSON.parse(text));
  const log = (kind) => (error) => {
    const stack = error.stack.split('\\n');
    const { name: errorType, message: errorMessage } = error;
    console.log('2026-11-21T10:00:00.000Z\\tid\\tERROR\\t' + kind + ' \\t' + JSON.stringify({ errorType, errorMessage, stack }));
  };
  try {
    Promise.resolve(require(file).handler(event, { ...context, getRemainingTimeInMillis: () => 30000 })).catch(log('Invoke Error'));
  } catch (error) {
    log('Uncaught Exception')(error);
  }
`;

/** Returns what a deployed function logs: the text of its bundle runs, without a source map. */
const logOf = async (name: FunctionName, event: unknown, env: Record<string, string>): Promise<string> => {
  const file = join(bundleOf(name).directory, 'index.js');
  const parameters = [file, event, lambdaContext].map((value) => JSON.stringify(value));
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    ['--input-type=commonjs', '--eval', RUN, ...parameters],
    { env: { RELEASE: bundleOf(name).release, ...env } },
  );
  return stdout + stderr;
};

const traced = z.object({
  errors: z.array(
    z.object({
      event: z.string().nullable(),
      error: z.string().nullable(),
      release: z.string().nullable(),
      function: z.string().nullable(),
      frames: z.array(
        z.union([
          z.object({
            source: z.string(),
            line: z.number(),
            function: z.string().nullable(),
            code: z.string().nullable(),
          }),
          z.object({ text: z.string() }),
        ]),
      ),
    }),
  ),
});

const trace = async (input: string, ...options: string[]) => {
  const { code, out, err } = await ops(['--json', 'stack-trace', '--maps', directory.path, ...options], { input });
  if (code !== 0) throw new Error(err);
  return traced.parse(JSON.parse(out)).errors;
};

/** Returns the number of the only line of a source that contains this code. */
const lineOf = (source: string, code: string): number => {
  const lines = readFileSync(join(ROOT, source), 'utf8').split('\n');
  const [index, ...others] = lines.flatMap((line, number) => (line.includes(code) ? [number] : []));
  if (index === undefined || others.length > 0) throw new Error(`${source} must contain once: ${code}`);
  return index + 1;
};

/** A request that fails because DynamoDB rejects a read, and the line that reads. */
const FAILED_READ = { source: 'shared/adapters/tokens/token-reader.ts', code: 'await client.send(new GetCommand' };

const logOfFailedRequest = async () => {
  const rejection = JSON.stringify({ __type: 'ValidationException', message: 'secret-message' });
  const server = await startHttp(respondWith(400, { 'content-type': 'application/x-amz-json-1.0' }, rejection));
  const { href } = server.url();
  const request = apiRequest({ headers: { 'x-auth-token': newToken() } });
  return logOf('get-account', request, environmentOf('get-account', href.replace(/\/$/, '')));
};

describe('ops stack-trace', () => {
  it('finds the TypeScript line of a failed call in a log line of the service, which has no message', async () => {
    const log = await logOfFailedRequest();
    expect(log).not.toContain('secret-message');
    const [error] = await trace(log);
    const { release } = bundleOf('get-account');
    expect(error).toMatchObject({
      event: 'request failed',
      error: 'ValidationException',
      release,
      function: 'get-account',
    });
    const { source, code } = FAILED_READ;
    expect(error?.frames).toContainEqual(
      expect.objectContaining({
        source,
        line: lineOf(source, code),
        function: 'find',
        code: expect.stringContaining(code),
      }),
    );
  });

  it('finds the TypeScript line of an exception in a handler, which Lambda logs', async () => {
    const log = await logOf(
      'dispatch-alarm-events',
      null,
      environmentOf('dispatch-alarm-events', 'http://127.0.0.1:1'),
    );
    const [error] = await trace(log, '--release', bundleOf('dispatch-alarm-events').release);
    const source = 'shared/pipeline/dispatch/dispatch.ts';
    expect(error).toMatchObject({ error: 'TypeError', function: 'dispatch-alarm-events' });
    expect(error?.frames[0]).toMatchObject({ source, line: lineOf(source, '({ Records: messages }: SQSEvent') });
  });

  it('finds the TypeScript line of an exception while a function starts, which Lambda logs', async () => {
    const log = await logOf('get-account', {}, {});
    const [error] = await trace(log, '--release', bundleOf('get-account').release);
    const source = 'functions/get-account.ts';
    const line = lineOf(source, "parseEnvironment('get-account')");
    expect(error?.frames).toContainEqual(expect.objectContaining({ source, line }));
  });

  it('shows the line of code below the first frame of the service', async () => {
    const log = await logOfFailedRequest();
    const { code, out } = await ops(['stack-trace', '--maps', directory.path], { input: `2026-11-21T10:00:00 ${log}` });
    expect(code).toBe(0);
    const line = lineOf(FAILED_READ.source, FAILED_READ.code);
    expect(out).toMatch(/^ValidationException {2}request failed\nin get-account, release [0-9a-f]{16}\n\n/);
    expect(out).toContain(`  ${FAILED_READ.source}:${line}:`);
    expect(out).toMatch(/ find\n {6}const .* = await client\.send\(new GetCommand/);
  });

  it('reads the maps of several releases, older ones included, from the bucket of the stack', async () => {
    const requested: string[] = [];
    // The bucket keeps the maps of all releases that were deployed.
    const [older, newer] = ['00000000000000aa', '00000000000000bb'] as const;
    const maps = new Map([
      [`/maps-bucket/${older}.map`, bundleOf('get-account').sourceMap],
      [`/maps-bucket/${newer}.map`, bundleOf('send-webhook').sourceMap],
    ]);
    const server = await startHttp((request, response) => {
      const path = new URL(request.url ?? '', 'http://localhost').pathname;
      requested.push(path);
      const map = maps.get(path);
      if (map) response.end(readFileSync(map));
      else response.writeHead(404, { 'content-type': 'application/xml' }).end('<Error><Code>NoSuchKey</Code></Error>');
    });
    const outputs = join(directory.path, 'outputs.json');
    const changes = { SourceMapsBucket: 'maps-bucket', Releases: JSON.stringify({ 'get-account': older }) };
    writeFileSync(outputs, JSON.stringify({ Prod: { ...stackOutputs('https://api.example.com'), ...changes } }));
    const env = { AWS_ENDPOINT_URL: server.url().href, AWS_ACCESS_KEY_ID: 'none', AWS_SECRET_ACCESS_KEY: 'none' };
    const traceDeployed = async (input: string, ...options: string[]) =>
      ops(['--json', '--outputs', outputs, 'stack-trace', ...options], { input, env });

    const log = await logOfFailedRequest();
    const release = bundleOf('get-account').release;
    const lines = [log.replaceAll(release, newer), log.replaceAll(release, older), log.replaceAll(release, older)];
    const { out, err } = await traceDeployed(lines.join(''));
    expect(err).toBe('');
    const functions = traced.parse(JSON.parse(out)).errors.map((error) => error.function);
    expect(functions).toEqual(['send-webhook', 'get-account', 'get-account']);
    expect(requested).toEqual([`/maps-bucket/${newer}.map`, `/maps-bucket/${older}.map`]);

    const stack = 'TypeError: text\n    at Xe (/var/task/index.js:1:100)';
    const named = await traceDeployed(stack, '--function', 'get-account');
    expect(traced.parse(JSON.parse(named.out)).errors[0]).toMatchObject({ error: 'TypeError', release: older });
    const unknown = await traceDeployed(stack, '--function', 'get-acount');
    expect(unknown).toMatchObject({
      code: 1,
      err: 'The outputs of stack Prod name no release of get-acount, only of get-account.\n',
    });
    const missing = await traceDeployed(stack, '--release', '00000000000000cc');
    expect(missing.code).toBe(1);
    expect(missing.err).toMatch(
      /^No source map of release 00000000000000cc was found: cdk\.out has none, and maps-bucket responded: NoSuchKey.*\. To rebuild it, check out the commit that was deployed and run `npm ci && npm run synth`\.\n$/,
    );
    rmSync(outputs);
  });

  it.each([
    ['text without frames', 'nothing here', [], 1, 'Standard input contains no stack frames.\n'],
    [
      'frames without a release',
      'at Xe (/var/task/index.js:1:1)',
      [],
      2,
      'The stack frames have no release: name it with --release, or name the function with --function.\n',
    ],
    [
      'a release outside the maps',
      '{"release":"../../etc/passwd","at":["at Xe (/var/task/index.js:1:1)"]}',
      [],
      2,
      'The stack frames have no release: name it with --release, or name the function with --function.\n',
    ],
    [
      'both a release and a function',
      'at Xe (/var/task/index.js:1:1)',
      ['--release', '0123456789abcdef', '--function', 'get-account'],
      2,
      'Use either --release or --function.\n',
    ],
  ])('rejects %s with one sentence', async (_, input, options, code, err) => {
    expect(await ops(['stack-trace', '--maps', directory.path, ...options], { input })).toEqual({ code, out: '', err });
  });
});
