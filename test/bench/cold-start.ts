import { fork } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildSync } from 'esbuild';
import * as z from 'zod';
import { bundledInputs, bundling } from '../../lib/bundles.ts';
import { endpointNames } from '../../shared/contracts/endpoints.ts';
import type { FunctionName } from '../../shared/environment.ts';
import { firstEvent, refusedRequest } from './cold-start/first-event.ts';
import type { FirstReturn } from './cold-start/first-return.ts';
import { buildFloor, clientsIn, clientsOf } from './cold-start/floor.ts';
import { type ChildServer, startChild } from './support/child.ts';
import { type Deployed, deployedFunctions } from './support/deployed.ts';
import { median, type Section } from './support/report.ts';
import { takeTurns } from './support/turns.ts';

/*
 * From the start of a fresh process to the first return of a function, for every bundle that deploys, beside an empty function
 * and the SDK-only floor of each: a bundle of the same AWS clients that makes one call by each that the function calls.
 */

const ROUNDS = 15;

/** Something to start: a bundle, its environment and its first event; what it must return is `answer`. */
type Start = { bundle: string; environment: Record<string, string>; event: unknown; answer: z.ZodType };

const status = (code: number) => z.object({ statusCode: z.literal(code) });
const served = z.union([
  z.object({ statusCode: z.union([z.literal(200), z.literal(201), z.literal(204)]) }),
  z.object({ batchItemFailures: z.tuple([]) }),
  // The function that hears of mails returns nothing.
  z.null(),
]);
/** What a function answers to its first event. */
const answerOf = (name: FunctionName): z.ZodType => (name === 'handle-unknown-route' ? status(404) : served);

/** A function and its floor. */
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

  /** Milliseconds from the start of a process to the first return. */
  return ({ bundle, environment, event, answer }: Start): Promise<number> => {
    writeFileSync(eventFile, JSON.stringify(event));
    return new Promise((resolve, reject) => {
      const started = process.hrtime.bigint();
      const child = fork(runner, [bundle, eventFile], {
        env: environment,
        execArgv: [],
        stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      });
      let told: { milliseconds: number; result: unknown } | undefined;
      child.once('message', ({ at, result }: FirstReturn) => {
        told = { milliseconds: Number(BigInt(at) - started) / 1e6, result };
      });
      child.once('exit', () => {
        if (told && answer.safeParse(told.result).success) resolve(told.milliseconds);
        else reject(new Error(`${bundle} returned ${JSON.stringify(told?.result)}.`));
      });
    });
  };
};

const emptyFunction = (directory: string): string => {
  const bundle = join(directory, 'empty.js');
  writeFileSync(bundle, 'exports.handler = async () => ({ statusCode: 204 });');
  return bundle;
};

/** Runs it. */
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

  /** A function beside a floor that calls what the function calls: it is run once, to see what that is. */
  const pairOf = async ({ name, bundle, environment }: Deployed, event: unknown, answer: z.ZodType): Promise<Pair> => {
    await aws.counts();
    const start = { bundle, environment, event, answer };
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
      floor: used.length > 0 ? { bundle: floor, environment, event: {}, answer: status(204) } : empty,
    };
  };

  const [first] = functions;
  if (!first) throw new Error('There are no functions.');
  const empty: Start = {
    bundle: emptyFunction(directory),
    environment: first.environment,
    event: {},
    answer: status(204),
  };

  const section = async (title: string, pairs: Pair[], note: string): Promise<Section> => {
    const starts = new Map<string, Start>([['', empty]]);
    for (const { name, start, floor } of pairs) starts.set(name, start).set(floor.bundle, floor);
    const cases = new Map([...starts].map(([key, start]) => [key, () => run(start)]));
    const given = await takeTurns(cases, ROUNDS);
    const milliseconds = (key: string) => median(given(key));
    const nothing = milliseconds('');
    const rows = pairs.map(({ name, start, floor }) => {
      const [own, least] = [milliseconds(name), floor.bundle === empty.bundle ? nothing : milliseconds(floor.bundle)];
      return [
        name,
        kilobytes(start).toFixed(0),
        kilobytes(floor).toFixed(0),
        floor.bundle === empty.bundle ? '–' : (kilobytes(start) / kilobytes(floor)).toFixed(2),
        own.toFixed(1),
        least.toFixed(1),
        (own - nothing).toFixed(1),
        (own / least).toFixed(2),
      ];
    });
    return {
      title,
      columns: ['function', 'KB', 'floor', 'ratio', 'ms', 'floor', 'added to an empty one', 'ratio'],
      rows,
      note: `An empty function: ${nothing.toFixed(1)} ms. ${note} ${ROUNDS} fresh processes of each, medians, taking turns.`,
    };
  };

  try {
    const pairs: Pair[] = [];
    for (const one of functions) pairs.push(await pairOf(one, firstEvent(one.name, sink.url), answerOf(one.name)));
    const refused: Pair[] = [];
    const isEndpoint = (name: string) => endpointNames.some((known) => known === name);
    for (const one of functions.filter(({ name }) => isEndpoint(name)))
      refused.push(await pairOf(one, refusedRequest(), status(401)));
    return [
      await section(
        'Cold start: process start to first return, one request or message served in full',
        pairs,
        'The floor makes one call by each AWS client that the function calls, the function all that it needs.',
      ),
      await section(
        'Cold start without any call of AWS: a request without a token is refused',
        refused,
        'The floor makes its clients and returns.',
      ),
    ];
  } finally {
    remove();
    sink.stop();
    aws.stop();
    rmSync(directory, { recursive: true, force: true });
  }
};
