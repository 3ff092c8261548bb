import type { Slice } from '../contracts/collection.ts';
import { MAX_BODY_BYTES, responseBytes } from './response.ts';

/**
 * Takes the first page of ordered records: at most `limit`, fewer if the response would exceed `MAX_BODY_BYTES`, and at least one
 * if there are any (DECISIONS.md#ids-and-paging).
 */
export const takePage = async <Record extends { id: string }>(
  records: AsyncIterable<Record> | Iterable<Record>,
  limit: number,
): Promise<Slice<Record>> => {
  const values: Record[] = [];
  let bytes = 0;
  for await (const record of records) {
    bytes += responseBytes(record);
    if (values.length === limit || (values.length > 0 && bytes > MAX_BODY_BYTES)) return { values, next: record.id };
    values.push(record);
  }
  return { values, next: null };
};
