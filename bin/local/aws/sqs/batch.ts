import { SqsError } from './errors.ts';

const mostEntries = 10;

/** Refuses a batch whose entries cannot be told apart, or are none, or too many. */
export function checkBatch(entries: readonly { Id: string }[]): void {
  if (entries.length === 0) {
    throw new SqsError('EmptyBatchRequest', 'There should be at least one entry in the request.');
  }
  if (entries.length > mostEntries) {
    throw new SqsError('TooManyEntriesInBatchRequest', 'Maximum number of entries per request are 10.');
  }
  const wrong = entries.find(({ Id }) => !/^[\w-]{1,80}$/.test(Id));
  if (wrong) {
    throw new SqsError(
      'InvalidBatchEntryId',
      'A batch entry id can only contain alphanumeric characters, hyphens and underscores, 80 at most.',
    );
  }
  if (new Set(entries.map(({ Id }) => Id)).size < entries.length) {
    throw new SqsError('BatchEntryIdsNotDistinct', 'Two or more batch entries in the request have the same id.');
  }
}

/** Runs a batch entry by entry: one that is refused fails alone. */
export function eachEntry<Entry extends { Id: string }>(
  entries: readonly Entry[],
  run: (entry: Entry) => object,
): object {
  const Successful: object[] = [];
  const Failed: object[] = [];
  for (const entry of entries) {
    try {
      Successful.push({ Id: entry.Id, ...run(entry) });
    } catch (error) {
      if (!(error instanceof SqsError) || error.code === 'QueueDoesNotExist') throw error;
      Failed.push({ Id: entry.Id, SenderFault: true, Code: error.queryCode, Message: error.message });
    }
  }
  return { Successful, ...(Failed.length > 0 ? { Failed } : {}) };
}
