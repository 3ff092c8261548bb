import { setTimeout as sleep } from 'node:timers/promises';
import { paginateScan } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod';
import { type LocalStack, startLocalStack } from '../../bin/local/stack.ts';
import { notificationTypeIds } from '../../shared/contracts/notification-types.ts';
import { connectApi } from '../support/api.ts';
import { connectPipeline } from '../support/pipeline.ts';
import { addressesOf } from '../support/running-stack.ts';
import { type AwsFaultCounts, startAwsFaults } from './aws-faults.ts';
import { openDestinations, type Receipt } from './destinations.ts';
import { type ChaosRow, countIncidentsLeftOpen, countOutcomes, type Kill } from './outcomes.ts';
import { planEvents } from './plan.ts';
import { pick, type Random, seededRandom, shuffle } from './random.ts';
import { type ChaosTarget, createTargets, receiptsInInbox } from './targets.ts';

/** The size of a run, and the seed of its random numbers. */
export type ChaosOptions = { events: number; tenants: number; seed: number };

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

/** How far to advance the clock of the stack when no function is running. */
const ADVANCE_MS = 30_000;

/** The size of the groups in which messages are sent in random order. */
const SHUFFLED_MESSAGES = 200;

/** How long workers are still killed after all messages were sent, per event. */
const KILL_MS_PER_EVENT = 15;

const storedRecord = z.object({
  pk: z.string(),
  sk: z.string(),
  status: z.string(),
  attempts: z.array(z.object({ timestamp_ms: z.number(), duration_ms: z.number(), result: z.string() })),
});

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

/** Starts the stack. Collects the log lines of deliveries that were not recorded, and the sandboxes that time out. */
const startStack = (destinationsUrl: string, unrecorded: string[], kills: Kill[]): Promise<LocalStack> =>
  startLocalStack({
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
      routerEndpoint: `${destinationsUrl}/router`,
      feedEndpoint: `${destinationsUrl}/feed`,
    },
  });

/** Kills random workers of the pipeline while they run. @returns a function that stops killing */
const startKilling = (stack: LocalStack, random: Random, kills: Kill[]): (() => Promise<void>) => {
  const workers = stack.plan.functions.map(({ name }) => name).filter((name) => /send-|dispatch/.test(name));
  let isKilling = true;
  const killing = (async () => {
    while (isKilling) {
      await sleep(20 + random() * 80);
      const name = pick(workers, random);
      if (stack.lambda.busy(name) > 0 && stack.lambda.killOne(name)) kills.push({ name, atMs: Date.now() });
    }
  })();
  return () => {
    isKilling = false;
    return killing;
  };
};

/** Sends all messages. Deletes a notification after the second group. @returns the IDs of deleted notifications */
const sendMessages = async (
  { sendEvents }: Pick<ReturnType<typeof connectPipeline>, 'sendEvents'>,
  messages: readonly string[],
  targetToDelete: ChaosTarget | undefined,
  random: Random,
): Promise<Set<string>> => {
  const deleted = new Set<string>();
  for (let start = 0; start < messages.length; start += SHUFFLED_MESSAGES) {
    await sendEvents(shuffle(messages.slice(start, start + SHUFFLED_MESSAGES), random));
    if (start !== SHUFFLED_MESSAGES || !targetToDelete) continue;
    await targetToDelete.owner.delete(`/notifications/${targetToDelete.id}`);
    deleted.add(targetToDelete.id);
  }
  return deleted;
};

/**
 * Advances the clock of the stack until only dead letters are left.
 *
 * @param onStep called before each step
 * @returns when the clock was advanced, in ms since the epoch on this machine
 */
const drainQueues = async (stack: LocalStack, onStep: () => void): Promise<number[]> => {
  const queues = [...stack.queues].filter(([name]) => !name.includes('DeadLetters')).map(([, queue]) => queue);
  const advancedAtMs: number[] = [];
  // Checks all queues at once, because messages move between them.
  while (!queues.every(({ messages }) => messages.length === 0)) {
    onStep();
    if (stack.lambda.busy() === 0) {
      await stack.advance(ADVANCE_MS);
      advancedAtMs.push(Date.now());
    }
    await sleep(20);
  }
  return advancedAtMs;
};

/**
 * Sends events through a local stack while destinations fail, SQS delivers duplicates, AWS throttles and workers are
 * killed at random. Then accounts for every planned delivery.
 */
export const runChaos = async ({ events, tenants, seed }: ChaosOptions): Promise<ChaosResult> => {
  const startMs = Date.now();
  const random = seededRandom(seed);
  const receipts: Receipt[] = [];
  const unrecorded: string[] = [];
  const kills: Kill[] = [];
  const destinations = await openDestinations(random, receipts);
  const stack = await startStack(destinations.url, unrecorded, kills);
  const running = addressesOf(stack);
  const api = connectApi(running);
  const pipeline = connectPipeline(running, api);

  try {
    const targets = await createTargets(api, tenants, destinations.url);
    const { messages, planned, ...planCounts } = planEvents(targets, events, random);

    const awsFaults = startAwsFaults(stack, random);
    const stopKilling = startKilling(stack, random, kills);
    const [targetToDelete] = [...targets.values()][0] ?? [];
    const deleted = await sendMessages(pipeline, messages, targetToDelete, random);
    const killUntilMs = Date.now() + events * KILL_MS_PER_EVENT;
    const advancedAtMs = await drainQueues(stack, () => {
      if (Date.now() > killUntilMs) void stopKilling();
    });
    await stopKilling();
    awsFaults.stop();

    const records = await readRecords(api);
    const bodiesIn = (queue: string) => stack.queues.get(queue)?.messages.map(({ body }) => body) ?? [];
    receipts.push(...stack.inbox.list().flatMap(receiptsInInbox));
    const observations = {
      records,
      deadLetters: (type: string) => bodiesIn(`Delivery-${type}-DeadLetters`),
      deleted,
      unrecorded,
      kills,
      receipts,
      toStackTimeMs: (realMs: number) =>
        realMs + ADVANCE_MS * advancedAtMs.filter((advancedMs) => advancedMs <= realMs).length,
    };
    return {
      rows: notificationTypeIds.map((type) => countOutcomes(type, planned, observations)),
      events,
      ...planCounts,
      invalidDeadLettered: bodiesIn('Delivery-AlarmEvents-DeadLetters').length,
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
