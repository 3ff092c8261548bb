import './engine/replace-globals.ts';
import { readFileSync } from 'node:fs';
import { type Plan, readTemplate } from 'local-aws/template.ts';
import { replaceSdkTransport } from './engine/sdk-transport.ts';
import type { ServiceCode } from './engine/service-code.ts';
import { replaceCommands } from './engine/unserialized-calls.ts';
import { delaysOfQuietTenants, withoutAttackers } from './rules/quiet-tenant-is-not-delayed.ts';
import { violationsOf } from './rules/rules.ts';
import { runScenario } from './world/run.ts';
import { scenarioOf } from './world/seeded-scenario.ts';
import { situationNamed } from './world/situations.ts';

/** A seed, or the name of a situation. */
export type Seed = number | string;

export type SeedRequest = {
  seed: Seed;
  /** How many of its steps happen. Default: all. */
  steps?: number | undefined;
  /** Whether the AWS SDK serializes all requests and responses, which takes longer. Default: for one seed in ten. */
  isSerialized?: boolean | undefined;
  /** Whether the result contains the trace. */
  isTraced?: boolean | undefined;
};

export type SeedResult = {
  seed: Seed;
  violations: readonly string[];
  /** The number of steps of the scenario. */
  steps: number;
  invocations: number;
  arrivals: number;
  trace: readonly string[];
};

/** Prepares this process for simulations: it replaces globals, and reads the synthesized template. */
export const prepareProcess = (templateFile: string): Plan => {
  Object.assign(process.env, {
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: 'simulated',
    AWS_SECRET_ACCESS_KEY: 'simulated',
  });
  replaceSdkTransport();
  replaceCommands();
  const template: unknown = JSON.parse(readFileSync(templateFile, 'utf8'));
  return readTemplate(template, { endpointUrl: 'http://aws.test', apiUrl: 'http://api.test', bundle: () => '' });
};

/** Runs a seed in a prepared process. */
export const runSeed = async (
  { seed, steps, isSerialized = typeof seed === 'number' && seed % 10 === 0, isTraced = false }: SeedRequest,
  code: ServiceCode,
  plan: Plan,
): Promise<SeedResult> => {
  // Stack traces take a twentieth of the time.
  Error.stackTraceLimit = isTraced ? 10 : 0;
  const scenario = typeof seed === 'number' ? scenarioOf(seed) : situationNamed(seed);
  const lines: string[] = [];
  const planned = { ...scenario, steps: scenario.steps.slice(0, steps) };
  const calm = withoutAttackers(planned);
  const alone = calm && (await runScenario({ scenario: calm, code, plan, isSerialized }));
  const observations = await runScenario({
    scenario: planned,
    code,
    plan,
    isSerialized,
    ...(isTraced && { trace: (line) => lines.push(line) }),
  });
  return {
    seed,
    violations: [...violationsOf(observations), ...(alone ? delaysOfQuietTenants(observations, alone) : [])],
    steps: scenario.steps.length,
    invocations: observations.invocations.length,
    arrivals: observations.arrivals.length,
    trace: lines,
  };
};
