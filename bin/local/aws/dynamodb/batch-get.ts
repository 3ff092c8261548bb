import type { AwsResponse } from '../aws-service.ts';
import type { Attributes } from './attributes.ts';
import { readUnits } from './capacity-units.ts';
import { accessOf, type Context } from './context.ts';
import { parsed, sendWith, success } from './protocol.ts';
import { type BatchGet, requests, responses } from './requests.ts';
import { type ThrottlingReason, throttlingException } from './throttling.ts';

/** The most that DynamoDB returns at once; the keys of what would exceed it are returned as unprocessed. */
const MAX_RESPONSE_BYTES = 16 * 1024 * 1024;

/** dynalite returns 1 MB and one item more at most: what is larger is read in several requests to it. */
const BYTES_PER_REQUEST = 1024 * 1024;

type Read = {
  table: string;
  key: Attributes;
  bytes: number;
};

/**
 * Reads up to 100 items. What is throttled or exceeds the size of a response is returned as unprocessed; only if every key
 * is throttled does the request fail.
 */
export const batchGet = async (context: Context): Promise<AwsResponse> => {
  const request = parsed(requests.BatchGetItem, context.call.body);
  if (!request || isInvalid(request)) return context.inner(context.call);
  const { admitted, unprocessed, reasons } = admit(context, request);
  if (admitted.length === 0 && reasons.length > 0) return throttlingException(reasons);
  const groups = bySize(admitted);
  if (unprocessed.length === 0 && groups.length <= 1) return context.inner(context.call);
  return collect(context, request, groups, unprocessed);
};

const admit = (context: Context, request: BatchGet) => {
  const { items, throttling } = context;
  const admitted: Read[] = [];
  const unprocessed: Read[] = [];
  const reasons: ThrottlingReason[] = [];
  let total = 0;
  for (const read of readsOf(context, request)) {
    const { table, key, bytes } = read;
    const access = accessOf(context, 'read', table, items.partitionKey(table, key));
    const reason = throttling.reason(access);
    if (reason) reasons.push(reason);
    if (reason || total + bytes > MAX_RESPONSE_BYTES) {
      unprocessed.push(read);
      continue;
    }
    total += bytes;
    throttling.consume(access, readUnits(bytes, request.RequestItems[table]?.ConsistentRead ?? false));
    admitted.push(read);
  }
  return { admitted, unprocessed, reasons };
};

const readsOf = ({ items }: Context, { RequestItems }: BatchGet): Read[] =>
  Object.entries(RequestItems).flatMap(([table, { Keys }]) =>
    Keys.map((key) => ({ table, key, bytes: items.bytes(table, key) })),
  );

/** Too many keys or repeated ones, which dynalite refuses as a whole. */
const isInvalid = ({ RequestItems }: BatchGet): boolean => {
  const keys = Object.entries(RequestItems).flatMap(([table, { Keys }]) =>
    Keys.map((key) => JSON.stringify([table, Object.entries(key).toSorted(([a], [b]) => (a < b ? -1 : 1))])),
  );
  return keys.length === 0 || keys.length > 100 || new Set(keys).size < keys.length;
};

const bySize = (reads: readonly Read[]): Read[][] => {
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
  context: Context,
  request: BatchGet,
  groups: readonly Read[][],
  unprocessed: readonly Read[],
): Promise<AwsResponse> => {
  const items = new Map<string, unknown[]>(Object.keys(request.RequestItems).map((table) => [table, []]));
  const capacity: unknown[] = [];
  for (const group of groups) {
    const answer = await sendWith(context, { ...request, RequestItems: askingFor(request, group) });
    const response = answer.status === 200 ? parsed(responses.BatchGetItem, answer.body) : undefined;
    if (!response) return answer;
    for (const [table, found] of Object.entries(response.Responses)) items.get(table)?.push(...found);
    capacity.push(...(response.ConsumedCapacity ?? []));
  }
  return success({
    Responses: Object.fromEntries(items),
    UnprocessedKeys: askingFor(request, unprocessed),
    ...(capacity.length > 0 && { ConsumedCapacity: capacity }),
  });
};

/** The request for some of its keys, with everything else that it says of their tables. */
const askingFor = (request: BatchGet, reads: readonly Read[]): BatchGet['RequestItems'] => {
  const tables = Object.entries(request.RequestItems).map(([table, rest]) => {
    const Keys = reads.filter((read) => read.table === table).map(({ key }) => key);
    return [table, { ...rest, Keys }] as const;
  });
  return Object.fromEntries(tables.filter(([, { Keys }]) => Keys.length > 0));
};
