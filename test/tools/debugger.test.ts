import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterAll, expect, it } from 'vitest';
import * as z from 'zod';
import { localStackCommand } from '../support/local-stack-process.ts';
import { until } from '../support/until.ts';
import { useStarted } from '../support/use-started.ts';

const ROOT = resolve(import.meta.dirname, '../..');

const event = z.looseObject({
  id: z.number().optional(),
  method: z.string().optional(),
  params: z.record(z.string(), z.unknown()).default({}),
  result: z.unknown().optional(),
});
type Event = z.infer<typeof event>;

/** A client of the inspector protocol that attaches to all worker threads, as debuggers do. */
const attachDebugger = async (url: string) => {
  const socket = new WebSocket(url);
  await once(socket, 'open');
  const events: { thread: string; event: Event }[] = [];
  const pending = new Map<number, (result: unknown) => void>();
  let lastId = 0;
  const request = (method: string, params: object, send: (message: string) => void) =>
    new Promise<unknown>((resolve) => {
      lastId += 1;
      pending.set(lastId, resolve);
      send(JSON.stringify({ id: lastId, method, params }));
    });
  const call = (method: string, params: object = {}) => request(method, params, (message) => socket.send(message));
  const callThread = (sessionId: string, method: string, params: object = {}) =>
    request(method, params, (message) => void call('NodeWorker.sendMessageToWorker', { sessionId, message }));
  const receive = (thread: string, message: Event) => {
    if (message.id !== undefined) pending.get(message.id)?.(message.result);
    else if (message.method === 'NodeWorker.receivedMessageFromWorker')
      receive(String(message.params.sessionId), event.parse(JSON.parse(String(message.params.message))));
    else if (message.method === 'NodeWorker.attachedToWorker')
      void callThread(String(message.params.sessionId), 'Debugger.enable');
    else events.push({ thread, event: message });
  };
  socket.addEventListener('message', ({ data }) => receive('', event.parse(JSON.parse(String(data)))));
  await call('NodeWorker.enable', { waitForDebuggerOnStart: false });
  return { events, callThread, close: () => socket.close() };
};

const temporary = useStarted(
  () => ({ directory: mkdtempSync(join(tmpdir(), 'debugger-test-')) }),
  ({ directory }) => rmSync(directory, { recursive: true }),
);
const running = new Set<ChildProcess>();
afterAll(async () => {
  for (const child of running) {
    child.kill('SIGKILL');
    await once(child, 'close');
  }
});

/** Starts the local stack with an inspector. */
const startInspected = async () => {
  const { file, args, options } = localStackCommand(['--json', '--port', '0'], temporary.directory);
  const child = spawn(file, ['--inspect=127.0.0.1:0', ...args], { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  running.add(child);
  let inspectorUrl: string | undefined;
  createInterface(child.stderr).on('line', (line) => {
    inspectorUrl ??= /listening on (ws:\S+)/.exec(line)?.[1];
  });
  const [line] = await once(createInterface(child.stdout), 'line');
  const { base_url, tokens } = z
    .looseObject({ base_url: z.string(), tokens: z.looseObject({ admin: z.string() }) })
    .parse(JSON.parse(String(line)));
  const get = async (path: string) => fetch(base_url + path, { headers: { 'x-auth-token': tokens.admin } });
  return { get, inspectorUrl: await until(async () => inspectorUrl) };
};

/** A line of TypeScript on which to pause, whose text the bundle also contains. */
const SOURCE = 'shared/api/endpoint.ts';
const CODE = 'await authenticate(token)';

it('pauses at a line of TypeScript in a function that was frozen', async () => {
  const { get, inspectorUrl } = await startInspected();
  const debug = await attachDebugger(inspectorUrl);
  // The first request starts an execution environment, which is frozen after the response.
  expect((await get('/notification_types')).status).toBe(200);
  const { thread, url, mapUrl } = await until(async () => {
    const found = debug.events.find(
      ({ event: { params } }) => String(params.url).endsWith('/index.js') && params.sourceMapURL,
    );
    return (
      found && {
        thread: found.thread,
        url: String(found.event.params.url),
        mapUrl: String(found.event.params.sourceMapURL),
      }
    );
  });

  const map = JSON.parse(readFileSync(fileURLToPath(new URL(mapUrl, url)), 'utf8'));
  expect(map).toMatchObject({ sourceRoot: pathToFileURL(`${ROOT}/`).href });
  const sourceMap = new SourceMap(map);
  const positionOf = (file: string) => {
    const before = readFileSync(file, 'utf8').split(CODE)[0]?.split('\n') ?? [];
    return { line: before.length - 1, column: before.at(-1)?.length ?? 0 };
  };
  const generated = positionOf(fileURLToPath(url));
  await debug.callThread(thread, 'Debugger.setBreakpointByUrl', {
    url,
    lineNumber: generated.line,
    columnNumber: generated.column,
  });

  const response = get('/notification_types');
  const paused = await until(async () => debug.events.find(({ event: { method } }) => method === 'Debugger.paused'));
  const { callFrames } = z
    .looseObject({
      callFrames: z.array(z.looseObject({ location: z.object({ lineNumber: z.number(), columnNumber: z.number() }) })),
    })
    .parse(paused.event.params);
  const { lineNumber = 0, columnNumber = 0 } = callFrames[0]?.location ?? {};
  // The client gets its response before an assertion can fail.
  await debug.callThread(paused.thread, 'Debugger.resume');
  expect((await response).status).toBe(200);
  debug.close();
  expect(sourceMap.findEntry(lineNumber, columnNumber)).toMatchObject({
    originalSource: SOURCE,
    originalLine: positionOf(join(ROOT, SOURCE)).line,
  });
});
