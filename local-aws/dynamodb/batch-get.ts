import type { AwsResponse } from '../aws-service.ts';
import type { Attributes } from './attributes.ts';
import { accessOf, type CallContext } from './context.ts';
import { readUnits } from './partition-capacity.ts';
import { parsed, sendWith, success } from './protocol.ts';
import { type BatchGetRequest, requests, responses } from './requests.ts';
import { type ThrottlingReason, throttlingException } from './throttling.ts';

/** The maximum size of a response; the keys of items that would exceed it are returned as unprocessed. */
const MAX_RESPONSE_BYTES = 16 * 1024 * 1024;

/** dynalite returns at most about 1 MB, so larger reads are split into several requests to it. */
const BYTES_PER_REQUEST = 1024 * 1024;

type Read = {
  table: string;
  key: Attributes;
  bytes: number;
};

/**
 * Reads up to 100 items. Returns keys as unprocessed if they are throttled or if the response would be too large; fails
 * only if every key is throttled.
 */
export const batchGet = async (context: CallContext): Promise<AwsResponse> => {
  const request = parsed(requests.BatchGetItem, context.call.body);
  if (!request || isInvalid(request)) return context.inner(context.call);
  for (const table of Object.keys(request.RequestItems)) await context.locks.untilReleased(`${table} `);
  const { admitted, unprocessed, reasons } = admit(context, request);
  if (admitted.length === 0 && reasons.length > 0) return throttlingException(reasons);
  const groups = groupBySize(admitted);
  if (unprocessed.length === 0 && groups.length <= 1) return context.inner(context.call);
  return collect(context, request, groups, unprocessed);
};

const admit = (context: CallContext, request: BatchGetRequest) => {
  const { items, throttling } = context;
  const admitted: Read[] = [];
  const unprocessed: Read[] = [];
  const reasons: ThrottlingReason[] = [];
  let totalBytes = 0;
  for (const read of readsOf(context, request)) {
    const { table, key, bytes } = read;
    const access = accessOf(context, 'read', table, items.partitionKey(table, key));
    const reason = throttling.reason(access);
    if (reason) reasons.push(reason);
    if (reason || totalBytes + bytes > MAX_RESPONSE_BYTES) {
      unprocessed.push(read);
      continue;
    }
    totalBytes += bytes;
    throttling.consume(access, readUnits(bytes, request.RequestItems[table]?.ConsistentRead ?? false));
    admitted.push(read);
  }
  return { admitted, unprocessed, reasons };
};

const readsOf = ({ items }: CallContext, { RequestItems }: BatchGetRequest): Read[] =>
  Object.entries(RequestItems).flatMap(([table, { Keys }]) =>
    Keys.map((key) => ({ table, key, bytes: items.bytes(table, key) })),
  );

/** Returns whether the request has no keys, too many keys or repeated keys, which dynalite rejects as a whole. */
const isInvalid = ({ RequestItems }: BatchGetRequest): boolean => {
  const keys = Object.entries(RequestItems).flatMap(([table, { Keys }]) =>
    Keys.map((key) => JSON.stringify([table, Object.entries(key).toSorted(([a], [b]) => (a < b ? -1 : 1))])),
  );
  return keys.length === 0 || keys.length > 100 || new Set(keys).size < keys.length;
};

const groupBySize = (reads: readonly Read[]): Read[][] => {
  const groups: Read[][] = [];
  let bytes = 0;
  for (const read of reads) {
    const last = groups.at(-1);
    if (last && bytes + read.bytes <= BYTES_PER_REQUEST) last.push(read);
    else {
      groups.push([read]);
      bytes = 0;
    }
    bytes += read.bytes;
  }
  return groups;
};

const collect = async (
  context: CallContext,
  request: BatchGetRequest,
  groups: readonly Read[][],
  unprocessed: readonly Read[],
): Promise<AwsResponse> => {
  const items = new Map<string, unknown[]>(Object.keys(request.RequestItems).map((table) => [table, []]));
  const capacity: unknown[] = [];
  for (const group of groups) {
    const result = await sendWith(context, { ...request, RequestItems: requestItems(request, group) });
    const response = result.status === 200 ? parsed(responses.BatchGetItem, result.body) : undefined;
    if (!response) return result;
    for (const [table, found] of Object.entries(response.Responses)) items.get(table)?.push(...found);
    capacity.push(...(response.ConsumedCapacity ?? []));
  }
  return success({
    Responses: Object.fromEntries(items),
    UnprocessedKeys: requestItems(request, unprocessed),
    ...(capacity.length > 0 && { ConsumedCapacity: capacity }),
  });
};

/** Returns `RequestItems` for some of the keys, with the other parameters of their tables unchanged. */
const requestItems = (request: BatchGetRequest, reads: readonly Read[]): BatchGetRequest['RequestItems'] => {
  const tables = Object.entries(request.RequestItems).map(([table, rest]) => {
    const Keys = reads.filter((read) => read.table === table).map(({ key }) => key);
    return [table, { ...rest, Keys }] as const;
  });
  return Object.fromEntries(tables.filter(([, { Keys }]) => Keys.length > 0));
};
