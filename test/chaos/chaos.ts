import { setTimeout as pause } from 'node:timers/promises';
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
import { makeEvent, makeTargets, type Target, takenByInbox } from './cast.ts';
import { openDestinations, type Taken } from './destinations.ts';
import { type StormCounts, startStorm } from './storm.ts';

/** How much chaos. */
export type ChaosOptions = { events: number; tenants: number; seed: number };

/** What became of the deliveries of a type. */
export type ChaosRow = {
  type: NotificationTypeId;
  planned: number;
  delivered: number;
  superseded: number;
  cancelled: number;
  /** Taken, and the record could not be written while time lasted: acked all the same (design 3, Claim). */
  unrecorded: number;
  dead: number;
  /** Planned, and nowhere to be found. */
  lost: number;
  /** Taken twice, where a worker was killed between the two. */
  doubledByKill: number;
  /** Taken twice for no such reason. */
  doubled: number;
};

/** What became of everything. */
export type ChaosResult = StormCounts & {
  rows: ChaosRow[];
  events: number;
  duplicates: number;
  malformed: number;
  malformedBuried: number;
  unknownIds: number;
  kills: number;
  /** Incidents of which an older alarm reached the destination after its end. */
  incidentsLeftOpen: number;
  seconds: number;
};

/** Mulberry32: a seed makes the same chaos, as far as timing lets it. */
const randomOf = (seed: number) => {
  let state = seed;
  return (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
};

/** How far time is moved when nobody is at work, in ms. */
const LEAP = 30_000;
/** A request that a killed worker had sent may still arrive, in ms. */
const ON_THE_WIRE = 5_000;

const storedRecord = z.object({
  pk: z.string(),
  sk: z.string(),
  status: z.string(),
  attempts: z.array(z.object({ timestamp_ms: z.number(), duration_ms: z.number(), result: z.string() })),
});

type StoredRecord = z.infer<typeof storedRecord>;

/**
 * True where the worker that sent at this time lived to record that its attempt had failed: then no kill excuses that the
 * destination took it.
 */
const isOnRecord = (sentAt: number, attempts: StoredRecord['attempts'] = []): boolean =>
  attempts.some(
    ({ timestamp_ms: at, duration_ms, result }) =>
      result !== 'delivered' && sentAt >= at - 100 && sentAt <= at + duration_ms + 100,
  );

const shuffled = <Item>(items: readonly Item[], random: () => number): Item[] =>
  items
    .map((item) => ({ item, place: random() }))
    .sort((one, other) => one.place - other.place)
    .map(({ item }) => item);

type Planned = { event: ReturnType<typeof makeEvent>; target: Target };

/** Incidents whose newest event that arrived was an OK, and whose last arrival was not. */
const incidentsLeftOpen = (planned: readonly Planned[], taken: readonly Taken[]): number => {
  const lasting = planned.filter(({ target }) => notificationTypes[target.type].hasIncidents);
  const byIncident = Map.groupBy(lasting, ({ event, target }) => `${target.id} ${event.alarm.id}`);
  return [...byIncident.values()].filter((events) => {
    const numbers = new Map(events.map(({ event, target }) => [`${event.number} ${target.key}`, event]));
    const arrived = taken
      .filter(({ delivery }) => numbers.has(delivery))
      .toSorted((one, other) => one.at - other.at)
      .map(({ delivery }) => numbers.get(delivery));
    const newest = Math.max(...arrived.map((event) => event?.number ?? 0));
    const last = arrived.at(-1);
    const end = arrived.find((event) => event?.number === newest);
    return end?.details.state === 'OK' && last?.number !== newest;
  }).length;
};

/** The records of all deliveries, by key. */
const allRecords = async ({ documents, table }: ReturnType<typeof connectApi>) => {
  const records = new Map<string, StoredRecord>();
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
 * Lets events loose on the declared stack while destinations fail, queues repeat themselves, AWS throttles and workers are
 * killed, all at random; and then accounts for every delivery that was planned.
 */
export const runChaos = async ({ events, tenants, seed }: ChaosOptions): Promise<ChaosResult> => {
  const started = Date.now();
  const random = randomOf(seed);
  const pick = <Item>(items: readonly Item[]): Item => {
    const item = items[Math.floor(random() * items.length)];
    if (item === undefined) throw new Error('There is nothing to pick from.');
    return item;
  };
  const taken: Taken[] = [];
  const unrecorded: string[] = [];
  const kills: { name: string; at: number }[] = [];
  const destinations = await openDestinations(random, taken);
  const stack = await startLocalStack({
    duplicateReceives: 0.03,
    log: (line) => {
      if (line.includes('delivered but not recorded')) unrecorded.push(line);
      // A sandbox that runs out of time is killed as well, by Lambda itself.
      const [, name = ''] = line.split(' ');
      if (line.includes('Sandbox.Timedout')) kills.push({ name, at: Date.now() });
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
    const targets = await makeTargets(api, tenants, destinations.url);
    const unknown: Target = { ...pick([...targets.values()].flat()), id: 'nt01ARZ3NDEKTSV4RRFFQ69G5FAV' };
    const deleted = new Set<string>();

    const planned: Planned[] = [];
    const messages: string[] = [];
    let [duplicates, malformed, unknownIds] = [0, 0, 0];
    for (let number = 0; number < events; number++) {
      const tenant = pick([...targets.keys()]);
      const own = targets.get(tenant) ?? [];
      const chosen = [...new Set([pick(own), pick(own), ...(random() < 0.05 ? [unknown] : [])])];
      const event = makeEvent(
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
        malformed++;
        messages.push(
          pick(['{', '[]', JSON.stringify({ ...event, tenant_id: '' }), JSON.stringify({ ...event, details: {} })]),
        );
      }
    }

    const storm = startStorm(stack, random);
    const leaps: number[] = [];
    const workers = stack.plan.functions.map(({ name }) => name).filter((name) => /send-|dispatch/.test(name));
    let raging = true;
    const rage = (async () => {
      while (raging) {
        await pause(20 + random() * 80);
        const name = pick(workers);
        if (stack.lambda.busy(name) > 0 && stack.lambda.killOne(name)) kills.push({ name, at: Date.now() });
      }
    })();

    for (let start = 0; start < messages.length; start += 200) {
      await pipeline.sendEvents(shuffled(messages.slice(start, start + 200), random));
      // In the middle of it, one notification of the first tenant is deleted.
      const [victim] = start === 200 ? ([...targets.values()][0] ?? []) : [];
      if (victim) {
        await victim.owner.delete(`/notifications/${victim.id}`);
        deleted.add(victim.id);
      }
    }
    const work = [...stack.queues].filter(([name]) => !name.includes('DeadLetters')).map(([, queue]) => queue);
    // All at one moment: messages go from one to the other.
    const isEmpty = () => work.every(({ messages }) => messages.length === 0);
    const rageUntil = Date.now() + events * 15;
    while (!isEmpty()) {
      if (Date.now() > rageUntil) raging = false;
      if (stack.lambda.busy() === 0) {
        await stack.advance(LEAP);
        leaps.push(Date.now());
      }
      await pause(20);
    }
    raging = false;
    await rage;
    storm.end();

    const records = await allRecords(api);
    const bodiesIn = (queue: string) => stack.queues.get(queue)?.messages.map(({ body }) => body) ?? [];
    const letters = new Map<string, string[]>();
    for (const type of notificationTypeIds) letters.set(type, bodiesIn(`Delivery-${type}-DeadLetters`));
    taken.push(...stack.inbox.list().flatMap(takenByInbox));
    const stackTime = (at: number) => at + LEAP * leaps.filter((leap) => leap <= at).length;
    const numbers = Map.groupBy(taken, ({ delivery }) => delivery);

    const rows = notificationTypeIds.map((type) => {
      const row: ChaosRow = {
        type,
        planned: 0,
        delivered: 0,
        superseded: 0,
        cancelled: 0,
        unrecorded: 0,
        dead: 0,
        lost: 0,
        doubledByKill: 0,
        doubled: 0,
      };
      for (const { event, target } of planned.filter(({ target }) => target.type === type)) {
        row.planned++;
        const { pk, sk } = deliveryKey(event, target.id);
        const isUnrecorded = unrecorded.some((line) => line.includes(deliveryId(event, target.id)));
        const record = records.get(`${pk} ${sk}`);
        const status = record?.status;
        const isBuried = letters.get(type)?.some((body) => body.includes(event.event_id) && body.includes(target.id));
        if (status === 'delivered' || status === 'superseded' || status === 'cancelled') row[status]++;
        else if (status === 'failed' && isBuried) row.dead++;
        else if (deleted.has(target.id)) row.cancelled++;
        else if (isUnrecorded) row.unrecorded++;
        else row.lost++;
        const times = (numbers.get(`${event.number} ${target.key}`) ?? [])
          .map(({ at }) => at)
          .sort((one, other) => one - other);
        for (let index = 1; index < times.length; index++) {
          const [from = 0, to = 0] = [times[index - 1], times[index]];
          const wasKilled = kills.some(
            ({ name, at }) => name.includes(`send-${type}`) && at >= from - ON_THE_WIRE && at <= to,
          );
          const isExcused = isUnrecorded || (wasKilled && !isOnRecord(stackTime(from), record?.attempts));
          row[isExcused ? 'doubledByKill' : 'doubled']++;
        }
      }
      return row;
    });
    return {
      rows,
      events,
      duplicates,
      malformed,
      malformedBuried: bodiesIn('Delivery-AlarmEvents-DeadLetters').length,
      unknownIds,
      kills: kills.length,
      ...storm.counts,
      incidentsLeftOpen: incidentsLeftOpen(planned, taken),
      seconds: Math.round((Date.now() - started) / 1000),
    };
  } finally {
    destinations.close();
    await stack.stop();
  }
};
