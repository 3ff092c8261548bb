import { existsSync, mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { bundledInputs } from '../../lib/bundles.ts';
import { buildFloor, clientsIn, clientsOf } from './support/cold-start-floor.ts';
import { firstEvent } from './support/first-event.ts';
import { type DeployedFunction, startFunctions } from './support/functions.ts';
import { median, runRounds, type Section } from './support/report.ts';

const ROUNDS = 15;

type Start = { found: DeployedFunction; event: unknown; expected: z.ZodType };

const success = z.union([
  z.object({ statusCode: z.union([z.literal(200), z.literal(201), z.literal(202), z.literal(204)]) }),
  z.object({ batchItemFailures: z.tuple([]) }),
]);
const notFound = z.object({ statusCode: z.literal(404) });

const kilobytes = ({ bundle }: DeployedFunction): string => (statSync(bundle).size / 1_000).toFixed(0);

/**
 * Measures the time from the start of a process to the first return of a function, for every deployed bundle, compared
 * with a floor: it has the same AWS clients, and makes one call with each client that the function calls, and one HTTP
 * request if the function makes one.
 */
export const benchColdStart = async (): Promise<Section> => {
  const { aws, receiver, functions, directory, start, stop } = await startFunctions();

  const run = async ({ found, event, expected }: Start): Promise<number> => {
    const started = start(found);
    const [invocation] = await started.invoke([event]);
    await started.stop();
    if (!invocation || !expected.safeParse(invocation.result).success)
      throw new Error(`${found.name} returned ${JSON.stringify(invocation?.result)}.`);
    return invocation.endedAtMs - started.startedAtMs;
  };

  /** Runs a function once to find its calls, and builds its floor. */
  const withFloor = async (found: DeployedFunction) => {
    await Promise.all([aws.counts(), receiver.counts()]);
    const expected = found.name === 'handle-unknown-route' ? notFound : success;
    const own = { found, event: firstEvent(found.name, receiver.url), expected };
    await run(own);
    const [actions, { requests = 0 }] = await Promise.all([aws.counts(), receiver.counts()]);
    if (actions.SendMessage) throw new Error(`${found.name} did not deliver.`);
    const [used, called] = [clientsIn(bundledInputs(found.name)), clientsOf(actions)];
    const post = requests > 0 ? receiver.url : undefined;
    // Functions with the same clients and calls share a floor, so that noise does not make their floors differ.
    const folder = join(directory, [...used, 'calling', ...called, ...(post ? ['http'] : [])].join('-'));
    const bundle = join(folder, 'index.js');
    if (!existsSync(folder)) {
      mkdirSync(folder);
      buildFloor(bundle, used, { called, post });
    }
    return { own, floor: { found: { ...found, bundle }, event: {}, expected: success } };
  };

  try {
    const measured: { own: Start; floor: Start }[] = [];
    for (const found of functions) measured.push(await withFloor(found));
    const cases = new Map(
      measured.flatMap(({ own, floor }) => [own, floor]).map((each) => [each.found.bundle, () => run(each)]),
    );
    const resultsOf = await runRounds(cases, ROUNDS);
    return {
      title: 'Cold start: from process start to the first response or message',
      columns: ['function', 'KB', 'ms', 'floor, ms', 'relative to floor'],
      rows: measured.map(({ own, floor }) => {
        const [ms, floorMs] = [median(resultsOf(own.found.bundle)), median(resultsOf(floor.found.bundle))];
        return [own.found.name, kilobytes(own.found), ms.toFixed(1), floorMs.toFixed(1), (ms / floorMs).toFixed(2)];
      }),
      note: `${ROUNDS} processes of each, medians, in turns.`,
    };
  } finally {
    stop();
  }
};
