import { fork } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildSync } from 'esbuild';
import * as z from 'zod';
import { bundledInputs, bundling } from '../../lib/bundles.ts';
import { endpointNames } from '../../shared/contracts/endpoints.ts';
import type { FunctionName } from '../../shared/environment.ts';
import { meanStart, msByGroup, totalMs } from './cold-start/cpu-profile.ts';
import { firstEvent, requestWithoutToken } from './cold-start/first-event.ts';
import type { FirstReturn } from './cold-start/first-return.ts';
import { flameGraph } from './cold-start/flame-graph.ts';
import { buildFloor, type ClientName, clientsIn, clientsOf, type FloorCalls } from './cold-start/floor.ts';
import { type ChildServer, startChild } from './support/child.ts';
import { type DeployedFunction, deployedFunctions } from './support/deployed.ts';
import { median, type Section } from './support/report.ts';
import { runRounds } from './support/rounds.ts';

/*
 * The time from the start of a process to the first return of a function, for every deployed bundle, compared with an
 * empty function and two floors. The floor of a function has the same AWS clients and makes one call with each client
 * that the function calls, and one HTTP request if the function makes one. The floor with equal calls makes as many
 * calls as the function, one after the other.
 */

const ROUNDS = 15;
/** The functions of a profile, one of the API and one sender, and how many of their starts it averages. */
const PROFILED: readonly FunctionName[] = ['get-notification', 'send-webhook'];
const PROFILED_STARTS = 10;

/** A bundle, its environment, its first event and its expected result. */
type Start = { bundle: string; environment: Record<string, string>; event: unknown; result: z.ZodType };

const status = (code: number) => z.object({ statusCode: z.literal(code) });
const success = z.union([
  z.object({ statusCode: z.union([z.literal(200), z.literal(201), z.literal(202), z.literal(204)]) }),
  z.object({ batchItemFailures: z.tuple([]) }),
]);
/** Returns the expected result of a function's first event. */
const resultOf = (name: FunctionName): z.ZodType => (name === 'handle-unknown-route' ? status(404) : success);

type Measured = { name: FunctionName; start: Start; floor: Start; equalCalls: Start; calls: number };

const kilobytes = ({ bundle }: Start): number => statSync(bundle).size / 1_000;

const createStarter = (directory: string) => {
  const runner = join(directory, 'first-return.js');
  buildSync({
    ...bundling,
    entryPoints: [join(import.meta.dirname, 'cold-start', 'first-return.ts')],
    outfile: runner,
  });
  const eventFile = join(directory, 'event.json');

  /** Returns the ms from the start of a process to the first return. @param execArgv options of Node.js */
  return ({ bundle, environment, event, result: expected }: Start, execArgv: string[] = []): Promise<number> => {
    writeFileSync(eventFile, JSON.stringify(event));
    return new Promise((resolve, reject) => {
      const startNs = process.hrtime.bigint();
      const child = fork(runner, [bundle, eventFile], {
        env: environment,
        execArgv,
        stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      });
      let first: { milliseconds: number; result: unknown } | undefined;
      child.once('message', ({ atNs, result }: FirstReturn) => {
        first = { milliseconds: Number(BigInt(atNs) - startNs) / 1e6, result };
      });
      child.once('exit', () => {
        if (first && expected.safeParse(first.result).success) resolve(first.milliseconds);
        else reject(new Error(`${bundle} returned ${JSON.stringify(first?.result)}.`));
      });
    });
  };
};

const emptyFunction = (directory: string): string => {
  const bundle = join(directory, 'empty.js');
  writeFileSync(bundle, 'exports.handler = async () => ({ statusCode: 204 });');
  return bundle;
};

const relative = (value: number, floor: number): string => (value / floor).toFixed(2);

/** Profiles starts of a function and of its floor. @returns the self time of both, by group */
const profileStart = async (
  run: ReturnType<typeof createStarter>,
  { name, start, floor }: Measured,
  folder: string,
): Promise<Section> => {
  const profileOf = async (each: Start, label: string): Promise<Map<string, number>> => {
    const profiles = join(folder, label);
    rmSync(profiles, { recursive: true, force: true });
    const options = ['--cpu-prof', '--cpu-prof-interval', '100', '--cpu-prof-dir', profiles];
    for (let index = 0; index < PROFILED_STARTS; index++) await run(each, options);
    const texts = readdirSync(profiles).map((file) => readFileSync(join(profiles, file), 'utf8'));
    const root = meanStart(each.bundle, texts);
    const title = `The mean of ${texts.length} cold starts of ${label}: ${totalMs(root).toFixed(0)} ms with the profiler`;
    writeFileSync(join(folder, `${label}.svg`), flameGraph(root, title));
    return msByGroup(root);
  };
  const [own, ofFloor] = [await profileOf(start, name), await profileOf(floor, `${name}-floor`)];
  const groups = [...new Set([...own.keys(), ...ofFloor.keys()])]
    .map((group) => ({ group, ms: own.get(group) ?? 0, floorMs: ofFloor.get(group) ?? 0 }))
    .filter(({ ms, floorMs }) => Math.max(ms, floorMs) >= 0.3)
    .toSorted((first, second) => second.ms - second.floorMs - (first.ms - first.floorMs));
  return {
    title: `Where a cold start of ${name} spends its time`,
    columns: ['', 'ms', 'floor, ms', 'above the floor, ms'],
    rows: groups.map(({ group, ms, floorMs }) => [
      group || '(start)',
      ms.toFixed(1),
      floorMs.toFixed(1),
      (ms - floorMs).toFixed(1),
    ]),
    note: `The mean of ${PROFILED_STARTS} starts with the profiler, which slows them down. Functions are compiled at their first call, which is part of their time.`,
  };
};

/** Runs the benchmark. @param profile a folder: profiles some functions instead of measuring all */
export const benchColdStart = async (profile?: string): Promise<Section[]> => {
  const directory = mkdtempSync(join(tmpdir(), 'bench-cold-start-'));
  const run = createStarter(directory);
  const sink = await startChild('./counting-sink.ts');
  const aws: ChildServer = await startChild('./aws-stub.ts', { destination: sink.url });
  const { functions, remove } = deployedFunctions(aws.url, {
    egressAllow: '127.0.0.0/8',
    pagerEndpoint: sink.url,
    routerEndpoint: sink.url,
    feedEndpoint: sink.url,
  });

  /** Returns the start of a floor, which is built once. */
  const floorOf = (environment: Record<string, string>, used: ClientName[], calls: FloorCalls): Start => {
    const folder = join(directory, [...used, 'calling', ...calls.aws, ...(calls.post ? ['http'] : [])].join('-'));
    mkdirSync(folder, { recursive: true });
    const bundle = join(folder, 'index.js');
    if (!existsSync(bundle)) buildFloor(bundle, used, calls);
    return { bundle, environment, event: {}, result: status(204) };
  };

  /** Runs a function once to find its calls, and builds its floors. */
  const withFloors = async (
    { name, bundle, environment }: DeployedFunction,
    event: unknown,
    result: z.ZodType,
  ): Promise<Measured> => {
    await Promise.all([aws.counts(), sink.counts()]);
    const start = { bundle, environment, event, result };
    await run(start);
    const [actions, { requests = 0 }] = await Promise.all([aws.counts(), sink.counts()]);
    if (actions.SendMessage) throw new Error(`${name} did not deliver.`);
    const [used, called] = [clientsIn(bundledInputs(name)), clientsOf(actions)];
    if (used.length === 0) return { name, start, floor: empty, equalCalls: empty, calls: 0 };
    const post = requests > 0 ? sink.url : undefined;
    return {
      name,
      start,
      floor: floorOf(environment, used, { aws: [...new Set(called)], post }),
      equalCalls: floorOf(environment, used, { aws: called, post }),
      calls: called.length,
    };
  };

  const [first] = functions;
  if (!first) throw new Error('There are no functions.');
  const empty: Start = {
    bundle: emptyFunction(directory),
    environment: first.environment,
    event: {},
    result: status(204),
  };

  const section = async (title: string, all: Measured[], note: string): Promise<Section> => {
    const starts = new Map<string, Start>([['', empty]]);
    for (const { name, start, floor, equalCalls } of all)
      starts.set(name, start).set(floor.bundle, floor).set(equalCalls.bundle, equalCalls);
    const cases = new Map([...starts].map(([key, start]) => [key, () => run(start)]));
    const resultsOf = await runRounds(cases, ROUNDS);
    const medianMs = (key: string) => median(resultsOf(key));
    const emptyMs = medianMs('');
    const rows = all.map(({ name, start, floor, equalCalls, calls }) => {
      const functionMs = medianMs(name);
      const [floorMs, equalCallsMs] = [floor, equalCalls].map(({ bundle }) => medianMs(bundle));
      return [
        name,
        kilobytes(start).toFixed(0),
        floor === empty ? '–' : relative(kilobytes(start), kilobytes(floor)),
        functionMs.toFixed(1),
        (functionMs - emptyMs).toFixed(1),
        (floorMs ?? emptyMs).toFixed(1),
        relative(functionMs, floorMs ?? emptyMs),
        String(calls),
        relative(functionMs, equalCallsMs ?? emptyMs),
      ];
    });
    return {
      title,
      columns: [
        'function',
        'KB',
        'relative to floor',
        'ms',
        'above an empty function, ms',
        'floor, ms',
        'relative to floor',
        'AWS calls',
        'relative to floor with equal calls',
      ],
      rows,
      note: `An empty function takes ${emptyMs.toFixed(1)} ms. ${note} ${ROUNDS} processes of each, medians, in turns.`,
    };
  };

  const served = (each: DeployedFunction) => withFloors(each, firstEvent(each.name, sink.url), resultOf(each.name));

  const measureAll = async (): Promise<Section[]> => {
    const all: Measured[] = [];
    for (const each of functions) all.push(await served(each));
    const unauthenticated: Measured[] = [];
    const isEndpoint = (name: string) => endpointNames.some((known) => known === name);
    for (const each of functions.filter(({ name }) => isEndpoint(name)))
      unauthenticated.push(await withFloors(each, requestWithoutToken(), status(401)));
    return [
      await section(
        'Cold start: from process start to the first response or message',
        all,
        'The floor makes one call with each AWS client that the function calls, and one HTTP request if the function makes one; the floor with equal calls makes as many as the function, one after the other.',
      ),
      await section(
        'Cold start without AWS calls: a request without a token',
        unauthenticated,
        'The floor creates its clients and returns.',
      ),
    ];
  };

  const profileSome = async (folder: string): Promise<Section[]> => {
    const sections: Section[] = [];
    for (const each of functions.filter(({ name }) => PROFILED.includes(name)))
      sections.push(await profileStart(run, await served(each), folder));
    return sections;
  };

  try {
    return await (profile === undefined ? measureAll() : profileSome(profile));
  } finally {
    remove();
    sink.stop();
    aws.stop();
    rmSync(directory, { recursive: true, force: true });
  }
};
