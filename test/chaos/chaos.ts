import { setTimeout as sleep } from 'node:timers/promises';
import { paginateScan } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod';
import { startLocalStack } from '../../bin/local/stack.ts';
import {
  type NotificationTypeId,
  notificationTypeIds,
  notificationTypes,
} from '../../shared/contracts/notification-types.ts';
import { deliveryId, deliveryKey } from '../../shared/domain/delivery-key.ts';
import { connectApi } from '../support/api.ts';
import { connectPipeline } from '../support/pipeline.ts';
import { addressesOf } from '../support/running-stack.ts';
import { type AwsFaultCounts, startAwsFaults } from './aws-faults.ts';
import { openDestinations, type Receipt } from './destinations.ts';
import { duplicateCause, MAX_ARRIVAL_DELAY_MS } from './duplicates.ts';
import { type ChaosTarget, createTargets, numberedEvent, receiptsInInbox } from './targets.ts';

/** The size of a run, and the seed of its random numbers. */
export type ChaosOptions = { events: number; tenants: number; seed: number };

/** The outcomes of all deliveries of a type. */
export type ChaosRow = {
  type: NotificationTypeId;
  planned: number;
  delivered: number;
  superseded: number;
  cancelled: number;
  /** Delivered, but the record could not be written before the function timed out (DECISIONS.md#claims-and-leases). */
  unrecorded: number;
  deadLettered: number;
  /** Planned, but with none of these outcomes. */
  lost: number;
  /** Delivered twice because a worker was killed between send and record. */
  duplicatedByKill: number;
  /** Delivered twice because the sender received no response to the first send within its timeout. */
  duplicatedByTimeout: number;
  /** Delivered twice for another reason. */
  duplicated: number;
};

/** The result of a run. */
export type ChaosResult = AwsFaultCounts & {
  rows: ChaosRow[];
  events: number;
  duplicates: number;
  invalid: number;
  invalidDeadLettered: number;
  unknownIds: number;
  kills: number;
  /** Incidents whose destination received an older alarm after the OK. */
  incidentsLeftOpen: number;
  seconds: number;
};

/** Mulberry32, so that a seed repeats the same random choices. Timing still differs. */
const seededRandom = (seed: number) => {
  let state = seed;
  return (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
};

/** How far to advance the clock of the stack when no function is running. */
const ADVANCE_MS = 30_000;

const storedRecord = z.object({
  pk: z.string(),
  sk: z.string(),
  status: z.string(),
  attempts: z.array(z.object({ timestamp_ms: z.number(), duration_ms: z.number(), result: z.string() })),
});

const DUPLICATE_COLUMNS = {
  kill: 'duplicatedByKill',
  timeout: 'duplicatedByTimeout',
  unexplained: 'duplicated',
} as const;

const shuffle = <Item>(items: readonly Item[], random: () => number): Item[] =>
  items
    .map((item) => ({ item, rank: random() }))
    .sort((left, right) => left.rank - right.rank)
    .map(({ item }) => item);

type Planned = { event: ReturnType<typeof numberedEvent>; target: ChaosTarget };

/** Counts the incidents whose newest delivered event is an OK, but whose last delivered event is not. */
const countIncidentsLeftOpen = (planned: readonly Planned[], receipts: readonly Receipt[]): number => {
  const withIncidents = planned.filter(({ target }) => notificationTypes[target.type].hasIncidents);
  const byIncident = Map.groupBy(withIncidents, ({ event, target }) => `${target.id} ${event.alarm.id}`);
  return [...byIncident.values()].filter((events) => {
    const numbers = new Map(events.map(({ event, target }) => [`${event.number} ${target.key}`, event]));
    const arrived = receipts
      .filter(({ delivery }) => numbers.has(delivery))
      .toSorted((left, right) => left.atMs - right.atMs)
      .map(({ delivery }) => numbers.get(delivery));
    const newest = Math.max(...arrived.map((event) => event?.number ?? 0));
    const last = arrived.at(-1);
    const end = arrived.find((event) => event?.number === newest);
    return end?.details.state === 'OK' && last?.number !== newest;
  }).length;
};

/** Returns all delivery records by `<pk> <sk>`. */
const readRecords = async ({ documents, table }: ReturnType<typeof connectApi>) => {
  const records = new Map<string, z.infer<typeof storedRecord>>();
  const pages = paginateScan({ client: documents }, { TableName: table('Deliveries'), ConsistentRead: true });
  for await (const { Items = [] } of pages) {
    for (const item of Items) {
      const parsed = storedRecord.safeParse(item);
      if (parsed.success) records.set(`${parsed.data.pk} ${parsed.data.sk}`, parsed.data);
    }
  }
  return records;
};

/**
 * Sends events through a local stack while destinations fail, SQS delivers duplicates, AWS throttles and workers are killed at
 * random. Then accounts for every planned delivery.
 */
export const runChaos = async ({ events, tenants, seed }: ChaosOptions): Promise<ChaosResult> => {
  const startMs = Date.now();
  const random = seededRandom(seed);
  const pick = <Item>(items: readonly Item[]): Item => {
    const item = items[Math.floor(random() * items.length)];
    if (item === undefined) throw new Error('The list is empty.');
    return item;
  };
  const receipts: Receipt[] = [];
  const unrecorded: string[] = [];
  const kills: { name: string; atMs: number }[] = [];
  const destinations = await openDestinations(random, receipts);
  const stack = await startLocalStack({
    duplicateReceives: 0.03,
    log: (line) => {
      if (line.includes('delivered but not recorded')) unrecorded.push(line);
      // Lambda kills a sandbox that times out.
      const [, name = ''] = line.split(' ');
      if (line.includes('Sandbox.Timedout')) kills.push({ name, atMs: Date.now() });
    },
    settings: {
      retryDelayScale: '0.001',
      deadLetterEmail: 'false',
      smsPerTenantPerDay: '1000000',
      managedPerTenantPerDay: '1000000',
      apiRequestsPerSecond: '10000',
      routerEndpoint: `${destinations.url}/router`,
      feedEndpoint: `${destinations.url}/feed`,
    },
  });
  const running = addressesOf(stack);
  const api = connectApi(running);
  const pipeline = connectPipeline(running, api);

  try {
    const targets = await createTargets(api, tenants, destinations.url);
    const unknown: ChaosTarget = { ...pick([...targets.values()].flat()), id: 'nt01ARZ3NDEKTSV4RRFFQ69G5FAV' };
    const deleted = new Set<string>();

    const planned: Planned[] = [];
    const messages: string[] = [];
    let [duplicates, invalid, unknownIds] = [0, 0, 0];
    for (let number = 0; number < events; number++) {
      const tenant = pick([...targets.keys()]);
      const ofTenant = targets.get(tenant) ?? [];
      const chosen = [...new Set([pick(ofTenant), pick(ofTenant), ...(random() < 0.05 ? [unknown] : [])])];
      const event = numberedEvent(
        tenant,
        number,
        pick(['OK', 'WARNING', 'CRITICAL'] as const),
        chosen.map(({ id }) => id),
        random,
      );
      messages.push(JSON.stringify(event));
      planned.push(...chosen.filter((target) => target !== unknown).map((target) => ({ event, target })));
      unknownIds += chosen.filter((target) => target === unknown).length;
      if (random() < 0.1) {
        duplicates++;
        messages.push(JSON.stringify(event));
      }
      if (random() < 0.05) {
        invalid++;
        messages.push(
          pick(['{', '[]', JSON.stringify({ ...event, tenant_id: '' }), JSON.stringify({ ...event, details: {} })]),
        );
      }
    }

    const awsFaults = startAwsFaults(stack, random);
    const advancedAtMs: number[] = [];
    const workers = stack.plan.functions.map(({ name }) => name).filter((name) => /send-|dispatch/.test(name));
    let isKilling = true;
    const killing = (async () => {
      while (isKilling) {
        await sleep(20 + random() * 80);
        const name = pick(workers);
        if (stack.lambda.busy(name) > 0 && stack.lambda.killOne(name)) kills.push({ name, atMs: Date.now() });
      }
    })();

    for (let start = 0; start < messages.length; start += 200) {
      await pipeline.sendEvents(shuffle(messages.slice(start, start + 200), random));
      // One notification is deleted during the run.
      const [target] = start === 200 ? ([...targets.values()][0] ?? []) : [];
      if (target) {
        await target.owner.delete(`/notifications/${target.id}`);
        deleted.add(target.id);
      }
    }
    const queues = [...stack.queues].filter(([name]) => !name.includes('DeadLetters')).map(([, queue]) => queue);
    // Checked together, because messages move between queues.
    const isEmpty = () => queues.every(({ messages }) => messages.length === 0);
    const killUntilMs = Date.now() + events * 15;
    while (!isEmpty()) {
      if (Date.now() > killUntilMs) isKilling = false;
      if (stack.lambda.busy() === 0) {
        await stack.advance(ADVANCE_MS);
        advancedAtMs.push(Date.now());
      }
      await sleep(20);
    }
    isKilling = false;
    await killing;
    awsFaults.stop();

    const records = await readRecords(api);
    const bodiesIn = (queue: string) => stack.queues.get(queue)?.messages.map(({ body }) => body) ?? [];
    const deadLetters = new Map<string, string[]>();
    for (const type of notificationTypeIds) deadLetters.set(type, bodiesIn(`Delivery-${type}-DeadLetters`));
    receipts.push(...stack.inbox.list().flatMap(receiptsInInbox));
    const toStackTimeMs = (realMs: number) =>
      realMs + ADVANCE_MS * advancedAtMs.filter((advancedMs) => advancedMs <= realMs).length;
    const receiptsByDelivery = Map.groupBy(receipts, ({ delivery }) => delivery);

    const rows = notificationTypeIds.map((type) => {
      const row: ChaosRow = {
        type,
        planned: 0,
        delivered: 0,
        superseded: 0,
        cancelled: 0,
        unrecorded: 0,
        deadLettered: 0,
        lost: 0,
        duplicatedByKill: 0,
        duplicatedByTimeout: 0,
        duplicated: 0,
      };
      for (const { event, target } of planned.filter(({ target }) => target.type === type)) {
        row.planned++;
        const { pk, sk } = deliveryKey(event, target.id);
        const isUnrecorded = unrecorded.some((line) => line.includes(deliveryId(event, target.id)));
        const record = records.get(`${pk} ${sk}`);
        const status = record?.status;
        const isDeadLettered = deadLetters
          .get(type)
          ?.some((body) => body.includes(event.event_id) && body.includes(target.id));
        if (status === 'delivered' || status === 'superseded' || status === 'cancelled') row[status]++;
        else if (status === 'failed' && isDeadLettered) row.deadLettered++;
        else if (deleted.has(target.id)) row.cancelled++;
        else if (isUnrecorded) row.unrecorded++;
        else row.lost++;
        const times = (receiptsByDelivery.get(`${event.number} ${target.key}`) ?? [])
          .map(({ atMs }) => atMs)
          .sort((left, right) => left - right);
        for (let index = 1; index < times.length; index++) {
          const [from = 0, to = 0] = [times[index - 1], times[index]];
          const wasKilled = kills.some(
            ({ name, atMs }) => name.includes(`send-${type}`) && atMs >= from - MAX_ARRIVAL_DELAY_MS && atMs <= to,
          );
          const cause = isUnrecorded ? 'kill' : duplicateCause(toStackTimeMs(from), record?.attempts ?? [], wasKilled);
          row[DUPLICATE_COLUMNS[cause]]++;
        }
      }
      return row;
    });
    return {
      rows,
      events,
      duplicates,
      invalid,
      invalidDeadLettered: bodiesIn('Delivery-AlarmEvents-DeadLetters').length,
      unknownIds,
      kills: kills.length,
      ...awsFaults.counts,
      incidentsLeftOpen: countIncidentsLeftOpen(planned, receipts),
      seconds: Math.round((Date.now() - startMs) / 1000),
    };
  } finally {
    destinations.close();
    await stack.stop();
  }
};
