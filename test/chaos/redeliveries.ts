import { setTimeout as sleep } from 'node:timers/promises';
import * as z from 'zod';
import { OperationError } from '../../bin/ops/errors.ts';
import { moveMessages } from '../../bin/ops/redrive.ts';
import type { NotificationTypeId } from '../../shared/contracts/notification-types.ts';
import type { ReceivedResponse } from '../support/api.ts';
import type { connectPipeline } from '../support/pipeline.ts';
import { pick, type Random } from './random.ts';
import { type Repetition, repeat } from './repeat.ts';
import type { ChaosTarget } from './targets.ts';

/** What clients and operators did to redeliver failed deliveries. */
export type RedeliveryCounts = {
  redeliverRequests: number;
  /** Requests that returned 503, because AWS failed. */
  unavailableResponses: number;
  /** Requests that returned 500, because the function was killed. */
  crashedResponses: number;
  /** Requests whose connection was closed. */
  droppedRequests: number;
  /** Requests that returned 429, because the daily limit was reached. */
  rateLimitedResponses: number;
  /** Messages that requests sent. Two concurrent requests may send, and count, the same one. */
  sentByRequests: number;
  /** Dead letters that operators moved, including those of deliveries that clients had redelivered. */
  movedByOperators: number;
  /** Redrives that SQS failed in part. */
  failedRedrives: number;
};

/** The number of clients that redeliver at the same time. */
const CLIENTS = 2;
/** The maximum pause of a client. The clock of the stack is advanced only while no function is running. */
const CLIENT_PAUSE_MS = 2_000;
const OPERATOR_PAUSE_MS = 500;
const RETRY_PAUSE_MS = 200;

/** The types whose dead letters operators redrive. Two of them also deliver notices. */
const REDRIVEN_TYPES = [
  'webhook',
  'incidentpager',
  'technicalContactsEmail',
  'managed',
] as const satisfies NotificationTypeId[];

const redeliveryResult = z.strictObject({
  count: z.number(),
  next_marker: z.string().nullable(),
  reason: z.string().optional(),
});
const history = z.object({ values: z.array(z.object({ event_id: z.string() })) });

/** The counts of the responses that clients tolerate. */
const TOLERATED = new Map<number, 'unavailableResponses' | 'crashedResponses' | 'rateLimitedResponses'>([
  [429, 'rateLimitedResponses'],
  [500, 'crashedResponses'],
  [503, 'unavailableResponses'],
]);

type Redelivery = { event_id: string } | { since: number; marker?: string };

/** Returns the response, or undefined if the connection was closed, as happens on a busy machine. */
const orUndefined = async (request: Promise<ReceivedResponse>): Promise<ReceivedResponse | undefined> => {
  try {
    return await request;
  } catch (error) {
    // The error of `fetch`.
    if (error instanceof TypeError) return undefined;
    throw error;
  }
};

/** Requests a redelivery. @returns undefined after a tolerated failure. @throws Error for any other response */
const request = async (
  { id, owner }: ChaosTarget,
  redelivery: Redelivery,
  counts: RedeliveryCounts,
): Promise<z.infer<typeof redeliveryResult> | undefined> => {
  counts.redeliverRequests++;
  const response = await orUndefined(owner.post(`/notifications/${id}/redeliver`, redelivery));
  if (!response) {
    counts.droppedRequests++;
    return undefined;
  }
  const { status, text, body } = response;
  // The notification was deleted.
  if (status === 404) return { count: 0, next_marker: null };
  const tolerated = TOLERATED.get(status);
  if (tolerated) {
    counts[tolerated]++;
    return undefined;
  }
  if (status !== 202) throw new Error(`Redelivery returned ${status}: ${text}`);
  const result = redeliveryResult.parse(body);
  counts.sentByRequests += result.count;
  return result;
};

/** Redelivers all failed deliveries of a notification, following the markers. @returns false if a request failed */
const redeliverAll = async (target: ChaosTarget, counts: RedeliveryCounts): Promise<boolean> => {
  let redelivery: Redelivery = { since: 0 };
  while (true) {
    const result = await request(target, redelivery, counts);
    if (!result) return false;
    if (result.next_marker === null) return true;
    redelivery = { since: 0, marker: result.next_marker };
  }
};

/** Redelivers one failed delivery of a notification, if the history shows any. */
const redeliverOne = async (target: ChaosTarget, random: Random, counts: RedeliveryCounts): Promise<void> => {
  const response = await orUndefined(target.owner.get(`/notifications/${target.id}/deliveries?status=failed`));
  if (response?.status !== 200) return;
  const { values } = history.parse(response.body);
  if (values.length > 0) await request(target, { event_id: pick(values, random).event_id }, counts);
};

/**
 * Creates the redeliveries of a run, by clients and by operators.
 *
 * @param targetsByTenant the notifications of each tenant
 * @param queueUrl returns the URL of the queue of a type
 */
export const createRedeliveries = (
  targetsByTenant: readonly (readonly ChaosTarget[])[],
  { sqs, deadLetterQueue }: Pick<ReturnType<typeof connectPipeline>, 'sqs' | 'deadLetterQueue'>,
  queueUrl: (type: NotificationTypeId) => string,
  random: Random,
) => {
  const counts: RedeliveryCounts = {
    redeliverRequests: 0,
    unavailableResponses: 0,
    crashedResponses: 0,
    droppedRequests: 0,
    rateLimitedResponses: 0,
    sentByRequests: 0,
    movedByOperators: 0,
    failedRedrives: 0,
  };

  const redriveAll = async (): Promise<void> => {
    for (const type of REDRIVEN_TYPES) {
      try {
        counts.movedByOperators += await moveMessages(sqs, deadLetterQueue(type), () => queueUrl(type));
      } catch (error) {
        if (!(error instanceof OperationError)) throw error;
        counts.failedRedrives++;
      }
    }
  };

  const redeliverAtRandom = async (target: ChaosTarget): Promise<void> => {
    const chance = random();
    if (chance < 0.3) await redeliverOne(target, random, counts);
    else if (chance < 0.6) await Promise.all([redeliverAll(target, counts), redeliverAll(target, counts)]);
    else await redeliverAll(target, counts);
  };

  const redeliverTenants = async (): Promise<void> => {
    const redeliver = async (target: ChaosTarget): Promise<void> => {
      while (!(await redeliverAll(target, counts))) await sleep(RETRY_PAUSE_MS);
    };
    for (const targets of targetsByTenant) await Promise.all(targets.map(redeliver));
  };

  const actAsClient = async (): Promise<void> => {
    await sleep(random() * CLIENT_PAUSE_MS);
    await Promise.all(pick(targetsByTenant, random).map(redeliverAtRandom));
  };

  const actAsOperator = async (): Promise<void> => {
    await redriveAll();
    await sleep(OPERATOR_PAUSE_MS);
  };

  return {
    counts,
    /** Redelivers and redrives at random in the background. */
    start: (): Repetition[] => [repeat(actAsClient, CLIENTS), repeat(actAsOperator)],
    /** Redelivers and redrives everything that has failed, clients and operators at the same time. */
    async redeliverEverything(): Promise<void> {
      await Promise.all([redeliverTenants(), redriveAll()]);
    },
  };
};
