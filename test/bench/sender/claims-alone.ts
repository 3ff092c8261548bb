import type { SQSEvent } from 'aws-lambda';
import { createDocumentClient } from '../../../shared/adapters/aws-client.ts';
import { createDeliveryRepository } from '../../../shared/adapters/deliveries/delivery-repository.ts';

/* Only the conditional writes of a batch: the share of the sender's CPU time that claims use. */

const deliveries = createDeliveryRepository(createDocumentClient(), 'Deliveries');

const record = (messageId: string) => {
  const now = Date.now();
  return {
    pk: 'delivery#nt01M7W36KGQDJ8S2D76FCWK3Z00#tenant-1',
    sk: `1790000000000#${messageId}`,
    status: 'pending',
    event_id: `tenant-1:enWeb:alDisk:chDisk:1790000000000:${messageId}`,
    entity_id: 'enWeb',
    alarm_id: 'alDisk',
    state: 'CRITICAL',
    content_hash: 'abcdefghijklmnopqrstuv',
    round: 1,
    attempt_count: 0,
    first_attempt_at_ms: 0,
    created_at_ms: now,
    updated_at_ms: now,
    round_started_at_ms: now,
    next_attempt_at_ms: now,
    lease_until_ms: now + 35_000,
    claim_id: crypto.randomUUID(),
    ttl: 1_790_000_000,
  } as const;
};

export const handler = async ({ Records }: SQSEvent) => {
  await Promise.all(
    Records.map(({ messageId }) =>
      deliveries.claim({ ...record(messageId), attempts: [], reached_recipient_hashes: [] }, Date.now()),
    ),
  );
  return { batchItemFailures: [] };
};
