import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { batchGet, type ItemKey } from '../dynamodb/batches.ts';
import { CHUNK_BYTES, chunkKeys, parseChunk, type StoredTarget } from './notification-items.ts';

/** The approximate size of a read of chunks: several small concurrent requests are faster than a large one. */
const REQUEST_BYTES = 1024 * 1024;
/** Splits a list into groups of at most `maxCount` elements. A group ends with the element that exceeds `maxWeight`. */
export const weightedGroups = <Element>(
  elements: readonly Element[],
  weightOf: (element: Element) => number,
  maxWeight: number,
  maxCount = Number.POSITIVE_INFINITY,
): Element[][] => {
  const groups: Element[][] = [];
  let group: Element[] = [];
  let weight = 0;
  for (const element of elements) {
    group.push(element);
    weight += weightOf(element);
    if (weight <= maxWeight && group.length < maxCount) continue;
    groups.push(group);
    group = [];
    weight = 0;
  }
  return group.length > 0 ? [...groups, group] : groups;
};

type Chunk = { key: ItemKey; bytes: number };

const chunksOf = (tenant: string, target: StoredTarget): Chunk[] =>
  chunkKeys({ tenant, id: target.sk }, target).map((key, index) => ({
    key,
    bytes: Math.min(CHUNK_BYTES, target.stored_bytes - index * CHUNK_BYTES),
  }));

/**
 * Reads the contents of targets as they are stored, all chunks concurrently, strongly consistent.
 *
 * @returns the content of each target in order, or undefined if one of its chunks is missing
 */
export const readContents = async (
  client: DynamoDBDocumentClient,
  table: string,
  tenant: string,
  targets: readonly StoredTarget[],
): Promise<(Uint8Array | undefined)[]> => {
  const chunks = targets.map((target) => chunksOf(tenant, target));
  const requests = weightedGroups(chunks.flat(), ({ bytes }) => bytes, REQUEST_BYTES);
  const items = await Promise.all(
    requests.map((request) =>
      batchGet(
        client,
        table,
        request.map(({ key }) => key),
      ),
    ),
  );
  const chunkContents = new Map(items.flat().map((item) => [item.sk, parseChunk(item)]));
  return targets.map((target, index) => {
    if (target.chunks === 0) return target.content;
    const contents = (chunks[index] ?? []).flatMap(({ key }) => chunkContents.get(key.sk) ?? []);
    return contents.length === target.chunks ? Buffer.concat(contents) : undefined;
  });
};
