import type { SQSEvent } from 'aws-lambda';
import { createDeliveryRepository } from '../../../shared/adapters/deliveries/delivery-repository.ts';
import { createDocumentClient } from '../../../shared/adapters/document-client.ts';

/*
 * The conditional writes of a batch alone: what of a sender's CPU goes to claims. The records are made by hand, so that nothing
 * but the SDK's call is left.
 */

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
    content: 'abcdefghijklmnopqrstuv',
    round: 1,
    attempts: 0,
    first_attempt_at_ms: 0,
    opened: now,
    due: now,
    lease: now + 35_000,
    owner: crypto.randomUUID(),
    history: [],
    parts: [],
    expires: 1_790_000_000,
  } as const;
};

export const handler = async ({ Records }: SQSEvent) => {
  await Promise.all(
    Records.map(({ messageId }) => deliveries.claim({ ...record(messageId), history: [], parts: [] }, Date.now())),
  );
  return { batchItemFailures: [] };
};
