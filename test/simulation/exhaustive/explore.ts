import type { Plan } from 'local-aws/template.ts';
import { contexts } from '../engine/context.ts';
import type { ServiceCode } from '../engine/service-code.ts';
import { SharedAccesses } from './access.ts';
import { type SmallCase, violationsOfPath } from './cases.ts';
import { observationsOf } from './observations.ts';
import { finishWorkers, prepare } from './prepare.ts';
import { SmallWorld, type Snapshot } from './small-world.ts';

/** Options of an exploration. */
export type ExploreOptions = {
  smallCase: SmallCase;
  code: ServiceCode;
  plan: Plan;
  /** The maximum number of faults in a path. */
  faults: number;
};

/** A path that violates a rule: the names of its actions. */
export type Violation = { path: readonly string[]; texts: readonly string[] };

/** The result of an exploration. */
export type Exploration = {
  name: string;
  faults: number;
  /** The number of states that were visited, and of paths that were run to their end. */
  states: number;
  paths: number;
  /** The number of runs, most of which end in a state that was visited. */
  runs: number;
  violations: readonly Violation[];
};

/** Choices that start a path, as positions in the lists of actions, and the number of faults among them. */
type Prefix = { choices: readonly number[]; faults: number };

/** A handler that waits forever would be found by this number of actions. */
const MAX_ACTIONS = 1_000;

/** A message that returns forever would be found by this number of receives and minutes. */
const MAX_STEPS = 24 * 60;

/** Runs a world to its end, without faults. */
const runToEnd = async (world: SmallWorld): Promise<void> => {
  for (let steps = 0; steps < MAX_STEPS && (world.waiting.length > 0 || !world.isWatched); steps++) {
    const queue = world.receivable;
    if (!world.isWatched) world.watch();
    else if (queue) await world.receive(queue);
    else await world.wait();
    await finishWorkers(world);
  }
};

/** Explores the prefixes of one case, those with the fewest faults first, so that a state is visited once. */
const exploreAll = async (
  { smallCase, code, plan, faults }: ExploreOptions,
  snapshot: Snapshot,
  accesses: SharedAccesses,
): Promise<Exploration | undefined> => {
  const { name, scenario, isDuplicated } = smallCase;
  const [type = ''] = scenario.tenants.flatMap(({ notifications }) => notifications.map((each) => each.type));
  const states = new Set<string>();
  const prefixes: Prefix[][] = Array.from({ length: faults + 1 }, () => []);
  prefixes[0]?.push({ choices: [], faults: 0 });
  const violations: Violation[] = [];
  let [paths, runs] = [0, 0];
  const { version } = accesses;

  const runPath = async (world: SmallWorld, prefix: Prefix): Promise<void> => {
    runs++;
    world.restore(snapshot);
    const choices: number[] = [];
    const path: string[] = [];
    let used = 0;
    const queue = world.queue(`Delivery-${type}`);
    while (queue.counts.visible > 0) await world.receive(queue);
    if (isDuplicated) await world.receiveAgain();
    while (choices.length < MAX_ACTIONS) {
      await world.settle();
      const actions = world.actions(used < faults);
      if (choices.length >= prefix.choices.length) {
        const { key } = world;
        if (states.has(key)) return;
        states.add(key);
        actions.forEach(({ isFault }, index) => {
          if (index > 0)
            prefixes[used + Number(isFault)]?.push({ choices: [...choices, index], faults: used + Number(isFault) });
        });
      }
      const choice = prefix.choices[choices.length] ?? 0;
      const action = actions[choice];
      if (!action) break;
      choices.push(choice);
      path.push(action.name);
      used += Number(action.isFault);
      await action.act();
    }
    paths++;
    await runToEnd(world);
    const texts = violationsOfPath(await observationsOf(world, plan, scenario, snapshot.ids));
    if (texts.length > 0) violations.push({ path, texts });
  };

  for (const group of prefixes)
    for (let prefix = group.pop(); prefix; prefix = group.pop()) {
      const world = new SmallWorld({ code, plan, scenario, accesses });
      const path = prefix;
      await contexts.run(world.context, () => runPath(world, path));
      if (accesses.version !== version) return undefined;
    }
  return { name, faults, states: states.size, paths, runs, violations };
};

/**
 * Explores a case: all orders of the calls of its workers, with all placements of up to `faults` faults. It replays each
 * path from the start (stateless model checking), and ends it in a state that was visited before.
 *
 * These bounds keep it small: calls that a worker makes at once happen in their order; waits of less than a second take
 * no time, and clocks agree; a late call is applied before any longer wait ends; and after the first workers have ended,
 * what follows (retries, notices, summaries) happens in one order, without faults.
 */
export const explore = async (options: ExploreOptions): Promise<Exploration> => {
  const { code, plan, smallCase } = options;
  const snapshot = await prepare({ code, plan, scenario: smallCase.scenario, accesses: new SharedAccesses() });
  const accesses = new SharedAccesses();
  let result: Exploration | undefined;
  // What the workers share is known only after they were run.
  while (!result) result = await exploreAll(options, snapshot, accesses);
  return result;
};
