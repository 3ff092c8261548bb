import { expect, it } from 'vitest';
import { createDailyCounters } from '../../shared/adapters/accounts/daily-counter.ts';
import { createDeliveryRepository } from '../../shared/adapters/deliveries/delivery-repository.ts';
import { createDestinationListReader } from '../../shared/adapters/deliveries/destination-list.ts';
import { createNotificationRepository } from '../../shared/adapters/notifications/notification-repository.ts';
import { createTokenRepository } from '../../shared/adapters/tokens/token-repository.ts';
import { deliveryKey } from '../../shared/domain/delivery-key.ts';
import { claimedRecord } from '../../shared/domain/delivery-record.ts';
import { newNotificationId } from '../../shared/domain/notification-id.ts';
import { audit } from '../support/audit.ts';
import { useDatabase } from '../support/dynamodb.ts';
import { withThrottling } from '../support/dynamodb-faults.ts';
import { alarmHeader } from '../support/events.ts';

const { connect } = useDatabase();
type Database = ReturnType<typeof connect>;

const event = alarmHeader();
const key = { tenant: 'acme', id: newNotificationId() };
const claim = { event, notification_id: key.id, accepted_at_ms: 1, content_hash: 'hash' };
const notifications = (database: Database) => createNotificationRepository(database, 'notifications');
const deliveries = (database: Database) => createDeliveryRepository(database, 'deliveries');
const list = (database: Database) => Array.fromAsync(notifications(database).list(key.tenant, null, 3));

it.each<[operation: string, command: string, run: (database: Database) => Promise<unknown>]>([
  ['reading a notification', 'GetItem', (database) => notifications(database).get(key)],
  ['deleting a notification', 'GetItem', (database) => notifications(database).delete(key, audit)],
  ['listing notifications', 'Query', list],
  ['counting', 'UpdateItem', (database) => createDailyCounters(database, 'accounts').count('sms', 'acme', 1, 5)],
  ['claiming a delivery', 'PutItem', (database) => deliveries(database).claim(claimedRecord(claim, 'claim', 1), 1)],
  [
    'reading destinations',
    'GetItem',
    (database) => createDestinationListReader(database, 'deliveries')(deliveryKey(event, key.id)),
  ],
  [
    'revoking a token',
    'GetItem',
    (database) =>
      createTokenRepository(database, 'tokens').revoke({ tenant: 'acme', id: 'tk', revoker: 'operator' }, audit),
  ],
])('%s fails if DynamoDB throttles %s, instead of reporting nothing or a limit', async (_, command, run) => {
  const database = withThrottling(connect({ maxAttempts: 1 }), `${command}Command`);
  await expect(run(database)).rejects.toMatchObject({ name: 'ProvisionedThroughputExceededException' });
});
