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
import { type DeployedFunction, deployedFunctions } from '../support/deployed.ts';
import { median, type Section } from '../support/report.ts';
import type { Invocations, Invoked } from './invoker.ts';

/* CPU time per request of the deployed handler bundles, each in its own process, with and without AWS SDK calls. */

const ROUNDS = 5;
const REQUESTS = 2_000;
/** The last digit is the index of its type. */
const ID = 'nt01M7W36KGQDJ8S2D76FCWK3Z01';

/** A handler in its own process, with the request that invokes it. */
type HandlerProcess = { run: () => Promise<Invoked>; stop: () => void };

/** The measured handlers, and the text that their last response must contain. */
const measured = {
  'list-notification-types': { contains: 'technicalContactsEmail' },
  'get-notification': { contains: ID, pathParameters: { notificationId: ID } },
  'list-notifications': { contains: ID },
} satisfies Partial<Record<EndpointName, { contains: string; pathParameters?: Record<string, string> }>>;

const isMeasured = (name: string): name is keyof typeof measured => name in measured;
const measuredNames = Object.keys(measured).filter(isMeasured);

const start = async (
  invoker: string,
  bundle: string,
  env: Record<string, string>,
  request: Invocations['request'],
): Promise<HandlerProcess> => {
  const child = fork(invoker, [bundle], { env, execArgv: [], stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const nextMessage = <Message>(): Promise<Message> =>
    Promise.race([
      once(child, 'message').then(([message]) => message),
      once(child, 'exit').then(() => {
        throw new Error('The invoker exited.');
      }),
    ]);
  await nextMessage();
  return {
    run() {
      child.send({ count: REQUESTS, request } satisfies Invocations);
      return nextMessage<Invoked>();
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
  const cleanup: (() => void)[] = [aws.stop, remove, () => rmSync(directory, { recursive: true, force: true })];
  const stopAfterwards = (started: HandlerProcess): HandlerProcess => {
    cleanup.unshift(started.stop);
    return started;
  };
  const deployed = (name: EndpointName): DeployedFunction => {
    const found = functions.find((each) => each.name === name);
    if (!found) throw new Error(`There is no function ${name}.`);
    return found;
  };

  try {
    const bare = async (rawPath: string) =>
      stopAfterwards(await start(invoker, bareCalls, deployed('get-notification').environment, { rawPath }));
    const processes = new Map<string, HandlerProcess>();
    for (const name of measuredNames) {
      const { bundle, environment } = deployed(name);
      processes.set(name, stopAfterwards(await start(invoker, bundle, environment, requestOf(name))));
    }
    for (const call of ['GetItem', 'Query', 'nothing']) processes.set(call, await bare(`/${call}`));

    for (const { run } of processes.values()) await run();
    await aws.counts();
    const cpus = new Map<string, number[]>([...processes.keys()].map((name) => [name, []]));
    const calls = new Map<string, Counts>();
    for (let round = 0; round < ROUNDS; round++) {
      for (const [name, { run }] of processes) {
        const { cpuMs, body } = await run();
        if (isMeasured(name) && !body.includes(measured[name].contains)) throw new Error(`${name} responded ${body}`);
        cpus.get(name)?.push(cpuMs / REQUESTS);
        calls.set(name, await aws.counts());
      }
    }

    const cpu = (name: string) => median(cpus.get(name) ?? []);
    /** The CPU time of the SDK in a call, without the loop around it. */
    const sdk = (call: string) => cpu(call) - cpu('nothing');
    const rows = measuredNames.map((name) => {
      const handlerCalls = Object.entries(calls.get(name) ?? {});
      const sdkMs = handlerCalls.reduce((sum, [call, count]) => sum + (count / REQUESTS) * sdk(call), 0);
      return [
        name,
        handlerCalls.map(([call, count]) => `${call} ${count / REQUESTS}`).join(', ') || '–',
        cpu(name).toFixed(3),
        sdkMs.toFixed(3),
        (cpu(name) - sdkMs).toFixed(3),
      ];
    });
    if (rows.some((row) => row.includes('NaN'))) throw new Error('A handler makes a call that has no baseline.');
    return {
      title: 'CPU time of a warm handler',
      columns: ['handler', 'AWS calls per request', 'CPU ms per request', 'of which SDK', 'without the SDK'],
      rows,
      note:
        `${ROUNDS} rounds of ${REQUESTS} requests after as many to warm up, medians, in turns. The part of the SDK is measured by ` +
        'the same calls alone, to an AWS that responds immediately. The list has 10 notifications.',
    };
  } finally {
    for (const step of cleanup) step();
  }
};
