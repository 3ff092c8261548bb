import { describe, expect, it } from 'vitest';
import {
  createDestinationListReader,
  createDestinationListWriter,
} from '../../../shared/adapters/deliveries/destination-list.ts';
import { deliveryKey } from '../../../shared/domain/delivery-key.ts';
import { RETENTION_SECONDS } from '../../../shared/domain/delivery-record.ts';
import { DEFAULT_NOTIFICATION_ID, newNotificationId } from '../../../shared/domain/notification-id.ts';
import { MAX_PLANNED_NOTIFICATIONS } from '../../../shared/domain/planned-event.ts';
import { itemsOf, useDatabase } from '../../support/dynamodb.ts';
import { alarmEvent } from '../../support/events.ts';

const { client } = useDatabase();
const write = createDestinationListWriter(client, 'deliveries');
const read = createDestinationListReader(client, 'deliveries');

const NOW_MS = Date.UTC(2026, 0, 1);
const newIds = (count: number) => Array.from({ length: count }, newNotificationId);

let events = 0;
const newEvent = () => alarmEvent({ tenant_id: 'ten#ant', event_id: `event ${events++}` });
const keyOf = (event: ReturnType<typeof newEvent>) => deliveryKey(event, newNotificationId());

describe('the list of the destinations of an event', () => {
  it('is found with the key of any delivery of the event', async () => {
    const [event, other] = [newEvent(), newEvent()];
    const ids = [...newIds(27), DEFAULT_NOTIFICATION_ID];
    await write(event, ids, NOW_MS);
    expect(await read(keyOf(event))).toEqual(ids);
    expect(await read(keyOf(other))).toBeUndefined();
  });

  it('contains no IDs that a notification cannot have', async () => {
    const event = newEvent();
    const ids = newIds(2);
    await write(event, ['ntOperators', ...ids, 'x'.repeat(100_000)], NOW_MS);
    expect(await read(keyOf(event))).toEqual(ids);
  });

  it('is stored once if dispatch receives the event twice, and expires like a delivery record', async () => {
    const event = newEvent();
    const ids = newIds(130);
    await write(event, ids, NOW_MS);
    await write(event, ids, NOW_MS);
    const items = await itemsOf(client, 'deliveries', `destinations#${keyOf(event).sk.split('#')[1]}#ten#ant`);
    expect(items.map(({ ttl }) => ttl)).toEqual([NOW_MS / 1000 + RETENTION_SECONDS]);
  });

  it('has room for the largest number of notifications', async () => {
    const event = newEvent();
    const ids = newIds(MAX_PLANNED_NOTIFICATIONS);
    await write(event, ids, NOW_MS);
    expect(await read(keyOf(event))).toEqual(ids);
  });
});
