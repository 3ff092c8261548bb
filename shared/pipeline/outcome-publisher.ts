import type { Context, DynamoDBBatchResponse, DynamoDBRecord, DynamoDBStreamEvent } from 'aws-lambda';
import { parseStreamRecord } from '../adapters/deliveries/stream-record.ts';
import { errorTrace, logger } from '../adapters/logger.ts';
import { emitMetrics, oldestAgeSeconds } from '../adapters/metrics.ts';
import { MAX_PUBLISHED, type OutcomeTopic, type PublishResult } from '../adapters/outcome-topic.ts';
import { serializeBody } from '../contracts/text.ts';
import type { Clock } from '../domain/clock.ts';
import { type DeliveryOutcome, outcomeOf } from '../domain/delivery-outcome.ts';
import { inBatches } from '../domain/in-batches.ts';

/** An outcome with the stream record that it comes from. */
type Publication = { record: DynamoDBRecord; outcome: DeliveryOutcome };

/** The part of an outcome that identifies it, for logs. */
const idsOf = ({ tenant_id, notification_id, event_id, status }: DeliveryOutcome) => ({
  tenant_id,
  notification_id,
  event_id,
  status,
});

const messageOf = ({ outcome }: Publication) => {
  const { tenant_id, type, status } = outcome;
  // SNS rejects attributes without a value.
  return { body: serializeBody(outcome), attributes: { tenant_id, ...(type !== null && { type }), status } };
};

/**
 * Creates the Lambda handler that publishes delivery outcomes from the stream of the Deliveries table, each at least
 * once (docs/producers.md#delivery-outcomes). Lambda repeats a batch from the first record that was not published.
 * Repeating a record that is invalid, or that SNS never accepts, would not help and would stop all that follow: it is
 * logged and counted.
 *
 * @param scale factor for the delays between attempts
 */
export const createOutcomePublisher = (
  topic: OutcomeTopic,
  scale: number,
  clock: Clock = Date.now,
): ((event: DynamoDBStreamEvent, context?: Context) => Promise<DynamoDBBatchResponse>) => {
  const read = (record: DynamoDBRecord): Publication[] | 'invalid' => {
    try {
      const change = parseStreamRecord(record);
      const outcome = change && outcomeOf(change.before, change.after, scale);
      return outcome ? [{ record, outcome }] : [];
    } catch (error) {
      logger.error('stream record invalid', { stream_record_id: record.eventID, ...errorTrace(error) });
      return 'invalid';
    }
  };

  const publish = async (publications: readonly Publication[]): Promise<PublishResult[]> => {
    try {
      return await topic.publish(publications.map(messageOf));
    } catch (error) {
      logger.error('outcomes not published', { outcomes: publications.length, ...errorTrace(error) });
      return publications.map(() => 'failed');
    }
  };

  return async ({ Records: records }, context) => {
    logger.appendKeys({ request_id: context?.awsRequestId });
    const found = records.map(read);
    const publications = found.flatMap((each) => (each === 'invalid' ? [] : each));
    const results = (await Promise.all(inBatches(publications, MAX_PUBLISHED).map(publish))).flat();
    const withResult = (wanted: PublishResult) => publications.filter((_, index) => results[index] === wanted);
    const [rejected, failed] = [withResult('rejected'), withResult('failed')];
    for (const { outcome } of rejected) logger.error('outcome rejected', idsOf(outcome));
    emitMetrics(
      {
        outcomes_invalid: found.filter((each) => each === 'invalid').length + rejected.length,
        internal_errors: failed.length,
        oldest_unprocessed_seconds: oldestAgeSeconds(failed.map(createdAtMs), clock()),
      },
      { function: 'publish-outcomes' },
    );
    // The records of an invocation are in the order of the stream, and Lambda repeats all from the first failure on.
    const [first] = failed;
    // An empty identifier fails the whole batch.
    return { batchItemFailures: first ? [{ itemIdentifier: first.record.dynamodb?.SequenceNumber ?? '' }] : [] };
  };
};

/** Returns when DynamoDB wrote the record, in ms since the epoch. Streams have the time in seconds. */
const createdAtMs = ({ record }: Publication): number => Number(record.dynamodb?.ApproximateCreationDateTime) * 1000;
