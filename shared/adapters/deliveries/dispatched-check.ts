import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import type { EventHeader } from '../../contracts/event-header.ts';
import { deliveryKey } from '../../domain/delivery-key.ts';
import { isNotificationId } from '../../domain/notification-id.ts';
import { batchGet } from '../dynamodb/batches.ts';

/** Creates the function that returns whether any of the notifications of an event has a delivery record of it. */
export const createDispatchedCheck =
  (client: DynamoDBDocumentClient, table: string) =>
  /** @throws ServiceError serviceUnavailable if DynamoDB leaves keys unprocessed, or the SDK's error */
  async (event: Pick<EventHeader, 'tenant_id' | 'event_id'>, ids: readonly string[]): Promise<boolean> => {
    const keys = ids.filter(isNotificationId).map((id) => deliveryKey(event, id));
    return (await batchGet(client, table, keys)).length > 0;
  };

/** Returns whether any of the notifications of an event has a delivery record of it. */
export type WasDispatched = ReturnType<typeof createDispatchedCheck>;
