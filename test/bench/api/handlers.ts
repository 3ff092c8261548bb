import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildSync } from 'esbuild';
import { bundling } from '../../../lib/bundles.ts';
import { type EndpointName, endpoints } from '../../../shared/contracts/endpoints.ts';
import { newToken } from '../../../shared/domain/token.ts';
import { type Counts, startChild } from '../support/child.ts';
import { type Deployed, deployedFunctions } from '../support/deployed.ts';
import { median, type Section } from '../support/report.ts';
import type { Invocations, Invoked } from './invoker.ts';

/* CPU of handlers a request: of the bundles that deploy, in processes of their own, with and without the SDK's calls. */

const ROUNDS = 5;
const AMOUNT = 2_000;
/** The last digit is the place of its type in the list of types. */
const ID = 'nt01M7W36KGQDJ8S2D76FCWK3Z01';

/** A handler in a process of its own, with the request that it gets. */
type Invoking = { run: () => Promise<Invoked>; stop: () => void };

/** What a handler is invoked with, and what its last answer must hold. */
const measured = {
  'list-notification-types': { holds: 'technicalContactsEmail' },
  'get-notification': { holds: ID, pathParameters: { notificationId: ID } },
  'list-notifications': { holds: ID },
} satisfies Partial<Record<EndpointName, { holds: string; pathParameters?: Record<string, string> }>>;

const isMeasured = (name: string): name is keyof typeof measured => name in measured;
const measuredNames = Object.keys(measured).filter(isMeasured);

const start = async (
  invoker: string,
  bundle: string,
  env: Record<string, string>,
  request: Invocations['request'],
): Promise<Invoking> => {
  const child = fork(invoker, [bundle], { env, execArgv: [], stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const answer = <Answer>(): Promise<Answer> =>
    Promise.race([
      once(child, 'message').then(([message]) => message),
      once(child, 'exit').then(() => {
        throw new Error('The invoker died.');
      }),
    ]);
  await answer();
  return {
    run() {
      child.send({ amount: AMOUNT, request } satisfies Invocations);
      return answer<Invoked>();
    },
    stop: () => child.kill(),
  };
};

const requestOf = (name: keyof typeof measured): Invocations['request'] => {
  const { method, path } = endpoints[name];
  const { pathParameters } = { pathParameters: undefined, ...measured[name] };
  return {
    routeKey: `${method} ${path}`,
    rawPath: path.replace('{notificationId}', ID),
    headers: { 'x-auth-token': newToken(), 'user-agent': 'bench', accept: '*/*' },
    ...(pathParameters && { pathParameters }),
  };
};

/** Runs it. */
export const benchHandlers = async (): Promise<Section> => {
  const directory = mkdtempSync(join(tmpdir(), 'bench-handlers-'));
  buildSync({
    ...bundling,
    entryPoints: ['invoker', 'bare-calls'].map((name) => join(import.meta.dirname, `${name}.ts`)),
    outdir: directory,
  });
  const [invoker, bareCalls] = [join(directory, 'invoker.js'), join(directory, 'bare-calls.js')];
  const aws = await startChild('./aws-stub.ts', { destination: 'https://example.com/hook' });
  const { functions, remove } = deployedFunctions(aws.url, {});
  const undo: (() => void)[] = [aws.stop, remove, () => rmSync(directory, { recursive: true, force: true })];
  const opened = (one: Invoking): Invoking => {
    undo.unshift(one.stop);
    return one;
  };
  const deployed = (name: EndpointName): Deployed => {
    const found = functions.find((one) => one.name === name);
    if (!found) throw new Error(`There is no function ${name}.`);
    return found;
  };

  try {
    const bare = async (rawPath: string) =>
      opened(await start(invoker, bareCalls, deployed('get-notification').environment, { rawPath }));
    const invoking = new Map<string, Invoking>();
    for (const name of measuredNames) {
      const { bundle, environment } = deployed(name);
      invoking.set(name, opened(await start(invoker, bundle, environment, requestOf(name))));
    }
    for (const call of ['GetItem', 'Query', 'nothing']) invoking.set(call, await bare(`/${call}`));

    for (const one of invoking.values()) await one.run();
    await aws.counts();
    const cpus = new Map<string, number[]>([...invoking.keys()].map((name) => [name, []]));
    const calls = new Map<string, Counts>();
    for (let round = 0; round < ROUNDS; round++) {
      for (const [name, one] of invoking) {
        const { cpu, body } = await one.run();
        if (isMeasured(name) && !body.includes(measured[name].holds)) throw new Error(`${name} answered ${body}`);
        cpus.get(name)?.push(cpu / AMOUNT);
        calls.set(name, await aws.counts());
      }
    }

    const cpu = (name: string) => median(cpus.get(name) ?? []);
    /** The SDK's part of a call, without the loop around it. */
    const sdk = (call: string) => cpu(call) - cpu('nothing');
    const rows = measuredNames.map((name) => {
      const made = Object.entries(calls.get(name) ?? {});
      const spent = made.reduce((sum, [call, count]) => sum + (count / AMOUNT) * sdk(call), 0);
      return [
        name,
        made.map(([call, count]) => `${call} ${count / AMOUNT}`).join(', ') || '–',
        cpu(name).toFixed(3),
        spent.toFixed(3),
        (cpu(name) - spent).toFixed(3),
      ];
    });
    if (rows.some((row) => row.includes('NaN'))) throw new Error('A handler makes a call that has no baseline.');
    return {
      title: 'CPU of a warm handler',
      columns: [
        'handler',
        'AWS calls a request',
        'CPU ms',
        'of it the SDK’s',
        'handler CPU without the SDK’s, ms per request',
      ],
      rows,
      note:
        `${ROUNDS} rounds of ${AMOUNT} requests after as many to warm up, medians, taking turns. The SDK's part is measured as ` +
        'the same calls alone, of an AWS that answers at once; the list has 10 notifications.',
    };
  } finally {
    for (const step of undo) step();
  }
};
