import { paginateScan } from '@aws-sdk/lib-dynamodb';
import type { Item } from '../../shared/adapters/dynamodb/items.ts';
import type { Session } from './session.ts';

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
