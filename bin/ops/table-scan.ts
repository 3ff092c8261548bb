import { setTimeout as sleepMs } from 'node:timers/promises';
import { paginateScan } from '@aws-sdk/lib-dynamodb';
import { parseRecord } from '../../shared/adapters/deliveries/stored-record.ts';
import type { Item } from '../../shared/adapters/dynamodb/items.ts';
import type { DeliveryRecord } from '../../shared/domain/delivery-record.ts';
import { pluralize } from './print.ts';
import type { Session } from './session.ts';

/** How a command waits. Tests replace it. */
export type Timing = { now: () => number; sleep: (ms: number) => Promise<unknown> };

/** Real time. */
export const realTime: Timing = { now: Date.now, sleep: (ms) => sleepMs(ms) };

/** The default rate of commands that scan: 4 MB/s. A partition of a table serves 3,000 read units per second. */
export const DEFAULT_UNITS_PER_SECOND = 500;

/** Limits the capacity units that a command consumes, so that it does not throttle the service. */
export type Pace = {
  /** Waits until the units consumed so far are within the rate. */
  spend: (units: number) => Promise<void>;
  /** Capacity units consumed so far. */
  readonly units: number;
};

/** Creates a pace with a rate in read and write capacity units per second. */
export const createPace = (unitsPerSecond: number, { now, sleep }: Timing): Pace => {
  let units = 0;
  let paidUntilMs = now();
  return {
    async spend(consumed) {
      units += consumed;
      paidUntilMs = Math.max(paidUntilMs, now()) + (consumed / unitsPerSecond) * 1_000;
      const waitMs = paidUntilMs - now();
      // Waiting for less than this costs more than it saves.
      if (waitMs > 50) await sleep(waitMs);
    },
    get units() {
      return units;
    },
  };
};

/** Which items of a table a scan returns, in the terms of DynamoDB. */
export type ScanFilter = {
  FilterExpression: string;
  ExpressionAttributeNames?: Record<string, string> | undefined;
  ExpressionAttributeValues: Record<string, unknown>;
  ProjectionExpression?: string;
};

/** The items of a page that the filter permits, how many items of the table it read, and the consumed capacity units. */
type ScannedPage = { items: readonly Item[]; count: number; units: number };

/** Scans a table, eventually consistent, which costs half. */
export async function* scanTable(
  { documents }: Session,
  table: string,
  filter: ScanFilter,
): AsyncGenerator<ScannedPage> {
  const pages = paginateScan({ client: documents }, { TableName: table, ReturnConsumedCapacity: 'TOTAL', ...filter });
  for await (const { Items = [], ScannedCount = 0, ConsumedCapacity } of pages) {
    yield { items: Items, count: ScannedCount, units: ConsumedCapacity?.CapacityUnits ?? 0 };
  }
}

/** 8 MB of a scan per second. A partition of a table serves 3,000 read units per second. */
const SCAN_UNITS_PER_SECOND = 1_000;

/** Scans table Deliveries for records of all tenants. Yields those of each page, in any order. */
export async function* scanDeliveries(session: Session, filter: ScanFilter): AsyncGenerator<DeliveryRecord[]> {
  const { deployment, progress } = session;
  const pace = createPace(SCAN_UNITS_PER_SECOND, realTime);
  let scanned = 0;
  for await (const { items, count, units } of scanTable(session, deployment.outputs.DeliveriesTable, filter)) {
    yield items.map(parseRecord);
    scanned += count;
    progress.show(`Read ${pluralize(scanned, 'item')} of table Deliveries. --tenant reads only those of a tenant.`);
    await pace.spend(units);
  }
  progress.clear();
}
