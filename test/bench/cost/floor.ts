import { meter } from './meter.ts';
import { sum, type Units } from './prices.ts';

/** Lambda receives and deletes each batch. */
export const SQS_REQUESTS_PER_BATCH = 2;

/** What the producer's message requires. Its group is the tenant (docs/api.md#alarm-events). */
export const PRODUCER: Units = sum([meter('SendMessage', { MessageBody: '{}', MessageGroupId: 'tenant' }), 1]);

/**
 * Returns what an event with one webhook requires in this design: a queue for events and one for each type, one
 * invocation for each batch of both, a claim and a final record, and a read of the target by dispatch and by the
 * sender. Time and logs are not included.
 */
export const floorUnits = (batchSize: number): Units =>
  sum(
    [PRODUCER, 1],
    [{ dynamoWrites: 2, dynamoReads: 1.5, sqsFairMessages: 1 }, 1],
    // Of each batch: received and deleted twice, and sent once by dispatch.
    [{ lambdaRequests: 2, sqsRequests: 2 * SQS_REQUESTS_PER_BATCH + 1 }, 1 / batchSize],
  );
