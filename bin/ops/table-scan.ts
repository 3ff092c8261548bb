import { setTimeout as sleepMs } from 'node:timers/promises';
import { paginateScan } from '@aws-sdk/lib-dynamodb';
import { parseRecord } from '../../shared/adapters/deliveries/stored-record.ts';
import type { Item } from '../../shared/adapters/dynamodb/items.ts';
import type { DeliveryRecord } from '../../shared/domain/delivery-record.ts';
import { pluralize } from './print.ts';
import type { Session } from './session.ts';

/** How a command waits. Tests replace it. */
export type Timing = { now: () => number; sleep: (ms: number) => Promise<unknown> };

export const realTime: Timing = { now: Date.now, sleep: (ms) => sleepMs(ms) };

/** 8 MB/s of a scan, so that it does not throttle the service: a partition serves 3,000 read units per second. */
const UNITS_PER_SECOND = 1_000;

/** Creates a function that waits until the capacity units consumed so far are within the rate. */
export const createPace = ({ now, sleep }: Timing = realTime) => {
  let paidUntilMs = now();
  return async (consumed: number): Promise<void> => {
    paidUntilMs = Math.max(paidUntilMs, now()) + (consumed / UNITS_PER_SECOND) * 1_000;
    const waitMs = paidUntilMs - now();
    // Waiting for less than this costs more than it saves.
    if (waitMs > 50) await sleep(waitMs);
  };
};

/** Which items of a table a scan returns, in the terms of DynamoDB. */
export type ScanFilter = {
  FilterExpression: string;
  ExpressionAttributeNames?: Record<string, string> | undefined;
  ExpressionAttributeValues: Record<string, unknown>;
  ProjectionExpression?: string;
};

/** Scans a table, eventually consistent, which costs half, and shows the progress. Yields the items of each page. */
export async function* scanTable(
  { documents, progress }: Pick<Session, 'documents' | 'progress'>,
  table: string,
  filter: ScanFilter,
): AsyncGenerator<readonly Item[]> {
  const pages = paginateScan({ client: documents }, { TableName: table, ReturnConsumedCapacity: 'TOTAL', ...filter });
  const pace = createPace();
  let scanned = 0;
  try {
    for await (const { Items = [], ScannedCount = 0, ConsumedCapacity } of pages) {
      scanned += ScannedCount;
      progress.show(`Read ${pluralize(scanned, 'item')} of table ${table}.`);
      yield Items;
      await pace(ConsumedCapacity?.CapacityUnits ?? 0);
    }
  } finally {
    progress.clear();
  }
}

/** Scans table Deliveries for records of all tenants. Yields those of each page, in any order. */
export async function* scanDeliveries(session: Session, filter: ScanFilter): AsyncGenerator<DeliveryRecord[]> {
  const { DeliveriesTable } = session.deployment.outputs;
  for await (const items of scanTable(session, DeliveriesTable, filter)) yield items.map(parseRecord);
}
