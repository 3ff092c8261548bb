import { setTimeout as sleep } from 'node:timers/promises';
import { type LocalStack, startLocalStack } from '../../bin/local/stack.ts';
import { notificationTypeIds } from '../../shared/contracts/notification-types.ts';
import { connectApi } from '../support/api.ts';
import { connectPipeline } from '../support/pipeline.ts';
import { addressesOf } from '../support/running-stack.ts';
import { until } from '../support/until.ts';
import { type AwsFaultCounts, startAwsFaults } from './aws-faults.ts';
import { openDestinations, type Receipt } from './destinations.ts';
import { receiptsInInbox } from './inbox.ts';
import { countMissingNotices, countNotices } from './notices.ts';
import { bodiesIn, readStoredState } from './observations.ts';
import {
  type ChaosObservations,
  type ChaosRow,
  countIncidentsLeftOpen,
  countOutcomes,
  type Kill,
  observedDeliveries,
} from './outcomes.ts';
import { type PlannedDelivery, planEvents } from './plan.ts';
import { pick, type Random, seededRandom, shuffle } from './random.ts';
import { createRedeliveries, type RedeliveryCounts } from './redeliveries.ts';
import { type Repetition, repeat } from './repeat.ts';
import { createStackClock } from './stack-clock.ts';
import { countSummaries, type SummaryCounts } from './summaries.ts';
import { type ChaosTarget, createTargets } from './targets.ts';

/** The size of a run, and the seed of its random numbers. */
export type ChaosOptions = { events: number; tenants: number; seed: number };

/** What happened to the deliveries and notices of a run, and the number of faults. */
export type ChaosResult = AwsFaultCounts &
  RedeliveryCounts &
  SummaryCounts & {
    /** The outcomes of deliveries, by type. */
    rows: ChaosRow[];
    /** The outcomes of notices, by kind. */
    notices: ChaosRow[];
    events: number;
    duplicates: number;
    invalid: number;
    invalidDeadLettered: number;
    unknownIds: number;
    kills: number;
    /** Kills of the function that redelivers. */
    killsOfRedeliver: number;
    /** Deliveries that were dead-lettered, and lost, when the destinations recovered. */
    deadLetteredBeforeRecovery: number;
    lostBeforeRecovery: number;
    /** Notifications with a failed delivery whose technical contacts were not notified. */
    missingNotices: number;
    /** Incidents whose destination received an older alarm after the OK. */
    incidentsLeftOpen: number;
    seconds: number;
  };

/** The size of the groups in which messages are sent in random order. */
const SHUFFLED_MESSAGES = 200;

/** How long workers are still killed after all messages were sent. */
const KILL_MS_PER_EVENT = 15;
const MIN_KILL_MS = 5_000;

/** The part of the kills of redeliveries that is carried out: on a busy machine no request would succeed otherwise. */
const REDELIVER_KILLS = 0.4;

/** The functions that are killed. */
const isKilled = (functionName: string): boolean => /send-|dispatch|redeliver/.test(functionName);

/** What the functions of a run logged, and which of them were killed. */
type ChaosLog = {
  /** Lines of deliveries that were not recorded. */
  unrecorded: string[];
  /** Lines of notices that were not queued. */
  unqueuedNotices: string[];
  kills: Kill[];
};

const startStack = (destinationsUrl: string, { unrecorded, unqueuedNotices, kills }: ChaosLog): Promise<LocalStack> =>
  startLocalStack({
    duplicateReceives: 0.03,
    log: (line) => {
      if (line.includes('delivered but not recorded')) unrecorded.push(line);
      if (line.includes('notice not queued')) unqueuedNotices.push(line);
      // Lambda kills a sandbox that times out.
      const [, name = ''] = line.split(' ');
      if (line.includes('Sandbox.Timedout')) kills.push({ name, atMs: Date.now() });
    },
    settings: {
      retryDelayScale: '0.001',
      smsPerTenantPerDay: '1000000',
      managedPerTenantPerDay: '1000000',
      apiRequestsPerSecond: '10000',
      routerEndpoint: `${destinationsUrl}/router`,
      feedEndpoint: `${destinationsUrl}/feed`,
    },
  });

/** Kills random workers while they run. */
const startKilling = (stack: LocalStack, random: Random, kills: Kill[]): Repetition => {
  const workers = stack.plan.functions.map(({ name }) => name).filter(isKilled);
  return repeat(async () => {
    await sleep(20 + random() * 80);
    const name = pick(workers, random);
    if (name.includes('redeliver') && random() >= REDELIVER_KILLS) return;
    if (stack.lambda.busy(name) > 0 && stack.lambda.killOne(name)) kills.push({ name, atMs: Date.now() });
  });
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
    const { owner, id } = targetToDelete;
    // DynamoDB throttles some of the requests.
    await until(async () => [204, 404].includes((await owner.delete(`/notifications/${id}`)).status));
    deleted.add(targetToDelete.id);
  }
  return deleted;
};

const countRows = (planned: readonly PlannedDelivery[], observations: ChaosObservations): ChaosRow[] =>
  notificationTypeIds.map((type) => countOutcomes(type, observedDeliveries(type, planned, observations), observations));

const sumOf = (rows: readonly ChaosRow[], column: 'deadLettered' | 'lost'): number =>
  rows.reduce((sum, row) => sum + row[column], 0);

/**
 * Sends events through a local stack while destinations fail, SQS delivers duplicates, AWS throttles, clients and
 * operators redeliver what failed, and workers are killed at random. Then the destinations recover, and everything that
 * failed is redelivered. Accounts for every planned delivery and every notice.
 */
export const runChaos = async ({ events, tenants, seed }: ChaosOptions): Promise<ChaosResult> => {
  const startMs = Date.now();
  const random = seededRandom(seed);
  const receipts: Receipt[] = [];
  const chaosLog: ChaosLog = { unrecorded: [], unqueuedNotices: [], kills: [] };
  const { unrecorded, kills } = chaosLog;
  const destinations = await openDestinations(random, receipts);
  const stack = await startStack(destinations.url, chaosLog);
  const running = addressesOf(stack);
  const api = connectApi(running);
  const pipeline = connectPipeline(running, api);
  const queueUrl = (type: string) => stack.queues.get(`Delivery-${type}`)?.settings.url ?? '';

  try {
    const { targets: targetsByTenant, fallbacks } = await createTargets(api, tenants, destinations.url);
    const targets = [...targetsByTenant.values()].flat();
    const { messages, planned, ...planCounts } = planEvents(targetsByTenant, events, random);
    const redeliveries = createRedeliveries([...targetsByTenant.values()], pipeline, queueUrl, random);
    const clock = createStackClock(stack);

    const awsFaults = startAwsFaults(stack, random);
    const killing = startKilling(stack, random, kills);
    const redelivering = redeliveries.start();
    const deleted = await sendMessages(pipeline, messages, targets[0], random);
    const killUntilMs = Date.now() + Math.max(MIN_KILL_MS, events * KILL_MS_PER_EVENT);
    await clock.drainQueues(() => {
      const isOver = Date.now() > killUntilMs;
      if (isOver) killing.end();
      return isOver;
    });
    for (const { end } of redelivering) end();
    await Promise.all([killing, ...redelivering].map(({ ended }) => ended));
    await clock.drainQueues();
    awsFaults.stop();

    const observe = async (): Promise<ChaosObservations> => ({
      ...(await readStoredState(stack, api, targets)),
      deleted,
      unrecorded,
      kills,
      receipts: [...receipts, ...stack.inbox.list().flatMap(receiptsInInbox)],
      toRealTimeMs: clock.toRealTimeMs,
    });
    const rowsBeforeRecovery = countRows(planned, await observe());

    destinations.recover();
    await redeliveries.redeliverEverything();
    await clock.drainQueues();
    const observations = await observe();
    return {
      rows: countRows(planned, observations),
      notices: countNotices(stack.inbox.list(), planned, [...targets, ...fallbacks], observations),
      events,
      ...planCounts,
      invalidDeadLettered: bodiesIn(stack, 'Delivery-AlarmEvents-DeadLetters').length,
      kills: kills.length,
      killsOfRedeliver: kills.filter(({ name }) => name.includes('redeliver')).length,
      ...awsFaults.counts,
      ...redeliveries.counts,
      deadLetteredBeforeRecovery: sumOf(rowsBeforeRecovery, 'deadLettered'),
      lostBeforeRecovery: sumOf(rowsBeforeRecovery, 'lost'),
      ...countSummaries(stack.inbox.list(), targets, observations),
      missingNotices: countMissingNotices(targets, observations, chaosLog.unqueuedNotices),
      incidentsLeftOpen: countIncidentsLeftOpen(planned, observations.receipts),
      seconds: Math.round((Date.now() - startMs) / 1000),
    };
  } finally {
    destinations.close();
    await stack.stop();
  }
};
