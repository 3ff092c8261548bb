import { paginateScan } from '@aws-sdk/lib-dynamodb';
import type { Item } from '../../shared/adapters/dynamodb/items.ts';
import type { Session } from './session.ts';
import type { Pace } from './tenant/pace.ts';

/** Which items of a table a scan returns, in the terms of DynamoDB. */
export type ScanFilter = { FilterExpression: string; ExpressionAttributeValues: Record<string, unknown> };

/** The items of a page that the filter permits, and how many items of the table have been read so far. */
export type ScannedPage = { items: readonly Item[]; scanned: number; isLast: boolean };

/** Scans a table, eventually consistent, which costs half. Waits after each page to keep the pace. */
export async function* scanTable(
  { documents }: Session,
  table: string,
  filter: ScanFilter,
  pace?: Pace,
): AsyncGenerator<ScannedPage> {
  let scanned = 0;
  const pages = paginateScan({ client: documents }, { TableName: table, ReturnConsumedCapacity: 'TOTAL', ...filter });
  for await (const { Items = [], ScannedCount = 0, ConsumedCapacity, LastEvaluatedKey } of pages) {
    scanned += ScannedCount;
    yield { items: Items, scanned, isLast: LastEvaluatedKey === undefined };
    await pace?.spend(ConsumedCapacity?.CapacityUnits ?? 0);
  }
}
