import type { AwsFault } from '../../bin/local/aws/aws-service.ts';
import type { Fault } from '../../bin/local/aws/endpoint.ts';
import type { LocalStack } from '../../bin/local/stack.ts';

/** How often AWS failed the functions, by kind. */
export type StormCounts = { refused: number; late: number; throttledKeys: number; partialBatches: number };

const busy: AwsFault = { status: 400, type: 'ThrottlingException', message: 'chaos' };
const broken: AwsFault = { status: 500, type: 'InternalFailure', message: 'chaos' };

/** Refused calls, by service. */
const REFUSED = { dynamodb: 0.01, sqs: 0.01, ses: 0.05, sns: 0.05 };
/** Writes of the database that are applied, and answered when the SDK has given up waiting and repeats them. */
const LATE = 0.004;
/** The SDK waits 3 s for a response; some late ones come before its second try is answered, some after, in ms. */
const LATE_BY = [3_050, 4_500];
/** Accesses to single keys of the database that are throttled: of a batch, some are left unprocessed. */
const THROTTLED_KEYS = 0.01;
/** Batches of which a queue takes a part. */
const PARTIAL = 0.03;

const isOfPipeline = (caller: string): boolean => /send-|dispatch/.test(caller);

/** What part of a batch a queue takes: every second message. */
const takesHalf = (stack: LocalStack, random: () => number, counts: StormCounts): void => {
  const serve = stack.endpoint.services.get('sqs');
  if (!serve) throw new Error('There is no queue.');
  stack.endpoint.services.set('sqs', async (call) => {
    if (call.action !== 'SendMessageBatch' || !isOfPipeline(call.caller) || random() >= PARTIAL) return serve(call);
    const { QueueUrl, Entries }: { QueueUrl: string; Entries: { Id: string }[] } = JSON.parse(
      call.body.toString('utf8'),
    );
    const taken = Entries.filter((_, index) => index % 2 === 0);
    const refused = Entries.filter((_, index) => index % 2 === 1);
    if (refused.length > 0) counts.partialBatches++;
    const answer = await serve({ ...call, body: Buffer.from(JSON.stringify({ QueueUrl, Entries: taken })) });
    const Failed = refused.map(({ Id }) => ({ Id, Code: 'InternalError', SenderFault: false }));
    return { ...answer, body: JSON.stringify({ ...JSON.parse(answer.body.toString()), Failed }) };
  });
};

/**
 * Makes AWS fail the functions of the pipeline at random: calls are refused, responses come late, single keys are throttled and
 * batches are taken in part. @returns the counts, and what ends the storm
 */
export const startStorm = (stack: LocalStack, random: () => number): { counts: StormCounts; end: () => void } => {
  const counts: StormCounts = { refused: 0, late: 0, throttledKeys: 0, partialBatches: 0 };
  const before = stack.endpoint.fault;
  const fault: Fault = ({ caller, service, action }) => {
    if (!isOfPipeline(caller)) return undefined;
    if (service === 'dynamodb' && /Put|Update|BatchWrite/.test(action) && random() < LATE) {
      counts.late++;
      return { response: 'late', delayMs: LATE_BY[Math.floor(random() * LATE_BY.length)] ?? 0 };
    }
    const rate = Object.entries(REFUSED).find(([name]) => name === service)?.[1] ?? 0;
    if (random() >= rate) return undefined;
    counts.refused++;
    return service === 'ses' || service === 'sns' ? broken : busy;
  };
  stack.endpoint.fault = fault;
  const admitKeys = stack.dynamodb.throttle({
    partitionKey: () => {
      const isHit = random() < THROTTLED_KEYS;
      if (isHit) counts.throttledKeys++;
      return isHit;
    },
  });
  takesHalf(stack, random, counts);
  return {
    counts,
    end: () => {
      stack.endpoint.fault = before;
      admitKeys();
    },
  };
};
