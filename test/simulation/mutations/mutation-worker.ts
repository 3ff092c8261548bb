import '../engine/replace-globals.ts';
import { readFileSync } from 'node:fs';
import { readTemplate } from 'local-aws/template.ts';
import { replaceSdkTransport } from '../engine/sdk-transport.ts';
import { buildService } from '../engine/service-code.ts';
import { violationsOf } from '../rules/rules.ts';
import { runScenario } from '../world/run.ts';
import { scenarioOf } from '../world/scenario.ts';
import type { MutationResult } from './find-mutations.ts';
import { mutations } from './mutations.ts';

/*
 * Looks for one mutation, in a process of its own, because the code of the service is evaluated once per process:
 * `mutation-worker.ts NAME TEMPLATE SECONDS`. Writes a `MutationResult` as JSON.
 */

const [name = '', template = '', seconds = ''] = process.argv.slice(2);
const mutation = mutations.find((each) => each.name === name);
if (!mutation) throw new Error(`There is no mutation ${name}.`);

Object.assign(process.env, {
  AWS_REGION: 'us-east-1',
  AWS_ACCESS_KEY_ID: 'simulated',
  AWS_SECRET_ACCESS_KEY: 'simulated',
});
replaceSdkTransport();
const plan = readTemplate(JSON.parse(readFileSync(template, 'utf8')), {
  endpointUrl: 'http://aws.test',
  apiUrl: 'http://api.test',
  bundle: () => '',
});
const code = await buildService([mutation, ...(mutation.also ?? [])]);

const firstViolation = async (seed: number): Promise<string | undefined> => {
  try {
    return violationsOf(await runScenario({ scenario: scenarioOf(seed), code, plan }))[0];
  } catch (error) {
    return `the run ends: ${error instanceof Error ? error.message : String(error)}`;
  }
};

/** The seed that found it last, then 1, 2, 3 and so on. */
function* seedsToTry(): Generator<number> {
  if (mutation?.seed !== undefined) yield mutation.seed;
  for (let seed = 1; ; seed++) if (seed !== mutation?.seed) yield seed;
}

const startedMs = performance.now();
const secondsSoFar = (): number => (performance.now() - startedMs) / 1_000;

const find = async (): Promise<MutationResult> => {
  let tried = 0;
  for (const seed of seedsToTry()) {
    if (secondsSoFar() > Number(seconds)) break;
    const violation = await firstViolation(seed);
    tried++;
    if (violation !== undefined) return { name, seed, violation, seeds: tried, seconds: secondsSoFar() };
  }
  return { name, seeds: tried, seconds: secondsSoFar() };
};

process.stdout.write(JSON.stringify(await find()));
// Timers of a run that violated a rule may be left.
process.exit();
