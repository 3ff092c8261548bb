import { paginateScan } from '@aws-sdk/lib-dynamodb';
import { parseRecord } from '../../shared/adapters/deliveries/stored-record.ts';
import type { Item } from '../../shared/adapters/dynamodb/items.ts';
import type { DeliveryRecord } from '../../shared/domain/delivery-record.ts';
import { pluralize } from './print.ts';
import type { Session } from './session.ts';
import { createPace, realTime } from './tenant/pace.ts';

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
