import { startLocalStackProcess } from '../support/local-stack-process.ts';
import { baseline, type Case, endpointCases } from './api/cases.ts';
import { benchHandlers } from './api/handlers.ts';
import { type Amount, type Load, load } from './api/load.ts';
import { startChild } from './support/child.ts';
import { median, type Section } from './support/report.ts';

/*
 * The API: requests a second and latencies of every endpoint of the local stack, which runs in a process of its own, beside
 * the cost of gateway and sandbox alone; and the CPU of handlers without the SDK's.
 */

const ROUNDS = 3;
const CONNECTIONS = [1, 10, 50];
/** What one slice is. Deletes are counted, so that there is something to delete for each. */
const slice = ({ name }: Case): Amount => (isDelete(name) ? { amount: 1_500 } : { duration: 2 });
/** Compiled code comes late: a function has up to ten sandboxes, each with a compiler of its own. */
const warmUp = ({ name }: Case): Amount => (isDelete(name) ? { amount: 8_000 } : { duration: 8 });
const WARM_UP_CONNECTIONS = 50;
/** A request that is made up but not sent takes one, too: at most two for each connection. */
const SPARE_TO_DELETE = 100;

const isDelete = (name: string) => name === 'delete-notification';
const isTest = ({ name }: Case) => name.startsWith('test-');

const benchEndpoints = async (): Promise<Section> => {
  const sink = await startChild('./counting-sink.ts');
  const stack = await startLocalStackProcess({
    testsPerTenantPerDay: '100000000',
    notificationsPerTenant: '100000000',
  });
  try {
    const { cases, deletable } = await endpointCases(stack, sink.url);
    const create = cases.find(({ name }) => name === 'create-notification');
    const makeToDelete = async (amount: number) => {
      const missing = amount + SPARE_TO_DELETE - deletable();
      if (create && missing > 0) await load(stack.base_url, create, Math.min(50, missing), { amount: missing });
    };
    const run = async (one: Case, connections: number, amount: Amount): Promise<Load> => {
      if (isDelete(one.name) && 'amount' in amount) await makeToDelete(amount.amount);
      await sink.counts();
      const taken = await load(stack.base_url, one, connections, amount);
      const arrived = (await sink.counts()).requests ?? 0;
      if (isTest(one) && arrived < taken.answers) {
        throw new Error(`${one.name}: ${taken.answers} answers, but ${arrived} webhooks.`);
      }
      return taken;
    };

    const all = [baseline, ...cases];
    const loads = new Map<string, Load[]>();
    const key = ({ name }: Case, connections: number) => `${name} ${connections}`;
    for (const one of all) await run(one, WARM_UP_CONNECTIONS, warmUp(one));
    for (let round = 0; round < ROUNDS; round++) {
      for (const connections of CONNECTIONS) {
        for (const one of all) {
          const taken = await run(one, connections, slice(one));
          loads.set(key(one, connections), [...(loads.get(key(one, connections)) ?? []), taken]);
        }
      }
    }

    const middle = (one: Case, connections: number, figure: (load: Load) => number) =>
      median((loads.get(key(one, connections)) ?? []).map(figure));
    const rows = all.flatMap((one) =>
      CONNECTIONS.map((connections) => {
        const perSecond = middle(one, connections, (load) => load.perSecond);
        return [
          one.name,
          String(connections),
          perSecond.toFixed(0),
          middle(one, connections, ({ p50 }) => p50).toFixed(1),
          middle(one, connections, ({ p99 }) => p99).toFixed(1),
          (perSecond / middle(baseline, connections, (load) => load.perSecond)).toFixed(2),
        ];
      }),
    );
    return {
      title: 'The API of the local stack',
      columns: ['endpoint', 'connections', 'requests/s', 'p50 ms', 'p99 ms', 'to baseline'],
      rows,
      note:
        `${ROUNDS} rounds of 2 s, medians, taking turns, warm; autocannon and the sink run on the same machine. ` +
        'Every answer had the status that it must have. The baseline is a request that the smallest function answers with ' +
        '404: gateway and sandbox without work.',
    };
  } finally {
    await stack.stop();
    sink.stop();
  }
};

/** Runs it. */
export const benchApi = async (): Promise<Section[]> => [await benchEndpoints(), await benchHandlers()];
