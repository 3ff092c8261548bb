import { LOCAL_ENV } from '../aws-service.ts';
import type { Clock } from '../clock.ts';
import type { Tables } from './tables.ts';
import { type Attributes, isEqual } from './value.ts';

/** A record of a stream with old and new images, as Lambda passes it to functions. */
export type StreamRecord = {
  eventID: string;
  eventName: 'INSERT' | 'MODIFY' | 'REMOVE';
  eventVersion: '1.1';
  eventSource: 'aws:dynamodb';
  awsRegion: string;
  eventSourceARN: string;
  dynamodb: {
    /** Epoch seconds. */
    ApproximateCreationDateTime: number;
    Keys: Attributes;
    NewImage?: Attributes;
    OldImage?: Attributes;
    SequenceNumber: string;
    StreamViewType: 'NEW_AND_OLD_IMAGES';
  };
};

const FIRST_SEQUENCE_NUMBER = 100_000_000_000_000_000_000n;

/** The table of a stream ARN. @throws Error if it is none */
const tableOf = (streamArn: string): string => {
  const [, table] = /:table\/([^/]+)\/stream\//.exec(streamArn) ?? [];
  if (table === undefined) throw new Error(`${streamArn} is not the ARN of a stream.`);
  return table;
};

/**
 * Calls `append` with a record for each write that changes an item of the table of a stream, in order. The stream has
 * one shard, and records of earlier writes are lost.
 */
export const watchTable = (
  streamArn: string,
  tables: Pick<Tables, 'watch'>,
  clock: Clock,
  append: (record: StreamRecord) => void,
): void => {
  let sequenceNumber = FIRST_SEQUENCE_NUMBER;
  tables.watch(tableOf(streamArn), ({ table, before, after }) => {
    const item = after?.item ?? before?.item;
    if (!item || (before && after && isEqual({ M: before.item }, { M: after.item }))) return;
    sequenceNumber += 1n;
    const written = after ? 'MODIFY' : 'REMOVE';
    append({
      eventID: crypto.randomUUID().replaceAll('-', ''),
      eventName: before ? written : 'INSERT',
      eventVersion: '1.1',
      eventSource: 'aws:dynamodb',
      awsRegion: LOCAL_ENV.region,
      eventSourceARN: streamArn,
      dynamodb: {
        ApproximateCreationDateTime: Math.floor(clock.now() / 1000),
        Keys: Object.fromEntries(Object.entries(item).filter(([name]) => table.keyNames.includes(name))),
        ...(after && { NewImage: after.item }),
        ...(before && { OldImage: before.item }),
        SequenceNumber: String(sequenceNumber),
        StreamViewType: 'NEW_AND_OLD_IMAGES',
      },
    });
  });
};
