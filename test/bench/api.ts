import { startLocalStackProcess } from '../support/local-stack-process.ts';
import { baseline, type Case, endpointCases } from './api/cases.ts';
import { benchHandlers } from './api/handlers.ts';
import { type Amount, type Load, load } from './api/load.ts';
import { startChild } from './support/child.ts';
import { median, type Section } from './support/report.ts';

/*
 * Requests per second and latencies of every endpoint of a local stack in its own process, compared with gateway and
 * sandbox alone; and the CPU time of handlers with and without the AWS SDK.
 */

const ROUNDS = 3;
const CONNECTIONS = [1, 10, 50];
/** The number of deletes is fixed, because each delete needs a notification. */
const measuredAmount = ({ name }: Case): Amount => (isDelete(name) ? { amount: 1_500 } : { duration: 2 });
/** The warm-up is long because a function has up to ten sandboxes, and each compiles its code. */
const warmUpAmount = ({ name }: Case): Amount => (isDelete(name) ? { amount: 8_000 } : { duration: 8 });
const WARM_UP_CONNECTIONS = 50;
/** Each connection may prepare up to two deletes that it never sends. */
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
    const createForDeletes = async (amount: number) => {
      const missing = amount + SPARE_TO_DELETE - deletable();
      if (create && missing > 0) await load(stack.base_url, create, Math.min(50, missing), { amount: missing });
    };
    const run = async (each: Case, connections: number, amount: Amount): Promise<Load> => {
      if (isDelete(each.name) && 'amount' in amount) await createForDeletes(amount.amount);
      await sink.counts();
      const measured = await load(stack.base_url, each, connections, amount);
      const arrived = (await sink.counts()).requests ?? 0;
      if (isTest(each) && arrived < measured.responses) {
        throw new Error(`${each.name}: ${measured.responses} responses, but only ${arrived} webhooks.`);
      }
      return measured;
    };

    const all = [baseline, ...cases];
    const loads = new Map<string, Load[]>();
    const key = ({ name }: Case, connections: number) => `${name} ${connections}`;
    for (const each of all) await run(each, WARM_UP_CONNECTIONS, warmUpAmount(each));
    for (let round = 0; round < ROUNDS; round++) {
      for (const connections of CONNECTIONS) {
        for (const each of all) {
          const measured = await run(each, connections, measuredAmount(each));
          loads.set(key(each, connections), [...(loads.get(key(each, connections)) ?? []), measured]);
        }
      }
    }

    const medianOf = (each: Case, connections: number, value: (load: Load) => number) =>
      median((loads.get(key(each, connections)) ?? []).map(value));
    const rows = all.flatMap((each) =>
      CONNECTIONS.map((connections) => {
        const perSecond = medianOf(each, connections, (load) => load.perSecond);
        return [
          each.name,
          String(connections),
          perSecond.toFixed(0),
          medianOf(each, connections, ({ p50 }) => p50).toFixed(1),
          medianOf(each, connections, ({ p99 }) => p99).toFixed(1),
          (perSecond / medianOf(baseline, connections, (load) => load.perSecond)).toFixed(2),
        ];
      }),
    );
    return {
      title: 'API of the local stack',
      columns: ['endpoint', 'connections', 'requests/s', 'p50 ms', 'p99 ms', 'relative to baseline'],
      rows,
      note:
        `${ROUNDS} rounds of 2 s, medians, in turns, warm; autocannon and the sink run on the same machine. ` +
        'Every response had the expected status. The baseline is a request to which the smallest function responds with ' +
        '404: gateway and sandbox without work.',
    };
  } finally {
    await stack.stop();
    sink.stop();
  }
};

export const benchApi = async (): Promise<Section[]> => [await benchEndpoints(), await benchHandlers()];
