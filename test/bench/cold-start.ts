import { fork } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildSync } from 'esbuild';
import * as z from 'zod';
import { bundledInputs, bundling } from '../../lib/bundles.ts';
import { endpointNames } from '../../shared/contracts/endpoints.ts';
import type { FunctionName } from '../../shared/environment.ts';
import { firstEvent, requestWithoutToken } from './cold-start/first-event.ts';
import type { FirstReturn } from './cold-start/first-return.ts';
import { buildFloor, clientsIn, clientsOf } from './cold-start/floor.ts';
import { type ChildServer, startChild } from './support/child.ts';
import { type DeployedFunction, deployedFunctions } from './support/deployed.ts';
import { median, type Section } from './support/report.ts';
import { runRounds } from './support/rounds.ts';

/*
 * The time from the start of a process to the first return of a function, for every deployed bundle, compared with an
 * empty function and the function's floor: a bundle with the same AWS clients that makes one call with each client that
 * the function uses.
 */

const ROUNDS = 15;

/** A bundle, its environment, its first event and its expected result. */
type Start = { bundle: string; environment: Record<string, string>; event: unknown; result: z.ZodType };

const status = (code: number) => z.object({ statusCode: z.literal(code) });
const served = z.union([
  z.object({ statusCode: z.union([z.literal(200), z.literal(201), z.literal(202), z.literal(204)]) }),
  z.object({ batchItemFailures: z.tuple([]) }),
]);
/** Returns the expected result of a function's first event. */
const resultOf = (name: FunctionName): z.ZodType => (name === 'handle-unknown-route' ? status(404) : served);

type Pair = { name: FunctionName; start: Start; floor: Start };

const kilobytes = ({ bundle }: Start): number => statSync(bundle).size / 1_000;

const createStarter = (directory: string) => {
  const runner = join(directory, 'first-return.js');
  buildSync({
    ...bundling,
    entryPoints: [join(import.meta.dirname, 'cold-start', 'first-return.ts')],
    outfile: runner,
  });
  const eventFile = join(directory, 'event.json');

  /** Returns the ms from the start of a process to the first return. */
  return ({ bundle, environment, event, result: expected }: Start): Promise<number> => {
    writeFileSync(eventFile, JSON.stringify(event));
    return new Promise((resolve, reject) => {
      const startNs = process.hrtime.bigint();
      const child = fork(runner, [bundle, eventFile], {
        env: environment,
        execArgv: [],
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

export const benchColdStart = async (): Promise<Section[]> => {
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

  /** Runs a function once to find its AWS calls, and builds its floor. */
  const pairOf = async (
    { name, bundle, environment }: DeployedFunction,
    event: unknown,
    result: z.ZodType,
  ): Promise<Pair> => {
    await aws.counts();
    const start = { bundle, environment, event, result };
    await run(start);
    const actions = Object.keys(await aws.counts());
    if (actions.includes('SendMessage')) throw new Error(`${name} did not deliver.`);
    const [used, called] = [clientsIn(bundledInputs(name)), clientsOf(actions)];
    const folder = join(directory, [...used, 'calling', ...called].join('-'));
    mkdirSync(folder, { recursive: true });
    const floor = join(folder, 'index.js');
    if (used.length > 0) buildFloor(floor, used, called);
    return {
      name,
      start,
      floor: used.length > 0 ? { bundle: floor, environment, event: {}, result: status(204) } : empty,
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

  const section = async (title: string, pairs: Pair[], note: string): Promise<Section> => {
    const starts = new Map<string, Start>([['', empty]]);
    for (const { name, start, floor } of pairs) starts.set(name, start).set(floor.bundle, floor);
    const cases = new Map([...starts].map(([key, start]) => [key, () => run(start)]));
    const resultsOf = await runRounds(cases, ROUNDS);
    const medianMs = (key: string) => median(resultsOf(key));
    const emptyMs = medianMs('');
    const rows = pairs.map(({ name, start, floor }) => {
      const functionMs = medianMs(name);
      const floorMs = floor.bundle === empty.bundle ? emptyMs : medianMs(floor.bundle);
      return [
        name,
        kilobytes(start).toFixed(0),
        kilobytes(floor).toFixed(0),
        floor.bundle === empty.bundle ? '–' : (kilobytes(start) / kilobytes(floor)).toFixed(2),
        functionMs.toFixed(1),
        floorMs.toFixed(1),
        (functionMs - emptyMs).toFixed(1),
        (functionMs / floorMs).toFixed(2),
      ];
    });
    return {
      title,
      columns: [
        'function',
        'KB',
        'floor, KB',
        'relative to floor',
        'ms',
        'floor, ms',
        'above an empty function, ms',
        'relative to floor',
      ],
      rows,
      note: `An empty function takes ${emptyMs.toFixed(1)} ms. ${note} ${ROUNDS} processes of each, medians, in turns.`,
    };
  };

  try {
    const pairs: Pair[] = [];
    for (const each of functions) pairs.push(await pairOf(each, firstEvent(each.name, sink.url), resultOf(each.name)));
    const unauthenticated: Pair[] = [];
    const isEndpoint = (name: string) => endpointNames.some((known) => known === name);
    for (const each of functions.filter(({ name }) => isEndpoint(name)))
      unauthenticated.push(await pairOf(each, requestWithoutToken(), status(401)));
    return [
      await section(
        'Cold start: from process start to the first response or message',
        pairs,
        'The floor makes one call with each AWS client that the function uses.',
      ),
      await section(
        'Cold start without AWS calls: a request without a token',
        unauthenticated,
        'The floor creates its clients and returns.',
      ),
    ];
  } finally {
    remove();
    sink.stop();
    aws.stop();
    rmSync(directory, { recursive: true, force: true });
  }
};
