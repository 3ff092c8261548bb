import { createHash } from 'node:crypto';
import type { AppliedItems } from './access-rule.ts';
import type { Context } from './context.ts';
import { DynamoDbError, exception, validationError } from './errors.ts';
import { readUnits, writeUnits } from './partition-capacity.ts';
import { type Request, readRequest, requests } from './requests.ts';
import type { StoredItem } from './table.ts';
import { THROTTLED } from './throttling.ts';
import { assertDistinct, changeOf, itemAfter, type LocatedWrite, locate, readWrite, type Write } from './write.ts';

/** Why one item of a transaction cancels it; `None` if it does not. */
type CancellationReason = { Code: string; Message?: string; Item?: unknown };

const NONE: CancellationReason = { Code: 'None' };
const CONFLICT: CancellationReason = { Code: 'TransactionConflict', Message: 'Transaction is ongoing for the item' };
/** The item is throttled, in an on-demand table. */
const THROTTLING: CancellationReason = {
  Code: 'ThrottlingError',
  Message: `${THROTTLED}: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html.`,
};

/** Transactions consume twice the units of other requests: DynamoDB prepares each item and then commits it. */
const UNITS_FACTOR = 2;
const MAX_BYTES = 4 * 1024 * 1024;

/** Writes up to 100 items or none. Does not apply a request again whose token was used within ten minutes. */
export const transactWrite = (context: Context, parameters: unknown): object => {
  const { TransactItems, ClientRequestToken: token } = readRequest(requests.TransactWriteItems, parameters);
  const writes = TransactItems.map(readMember);
  assertSize(writes.map(({ requestBytes }) => requestBytes));
  if (token === undefined) {
    apply(context, writes);
    return {};
  }
  const fingerprint = fingerprintOf(TransactItems);
  const use = context.tokens.find(token);
  if (!use) context.tokens.add(token, fingerprint, apply(context, writes));
  else if (use.fingerprint !== fingerprint) throw exception('IdempotentParameterMismatchException', '');
  // A repeated request consumes the units of reading the items.
  for (const { access, bytes } of use?.result ?? []) {
    context.throttling.consume({ ...access, operation: 'read' }, UNITS_FACTOR * readUnits(bytes, true));
  }
  return {};
};

const readMember = ({
  Put,
  Update,
  Delete,
  ConditionCheck,
}: Request<'TransactWriteItems'>['TransactItems'][number]): Write => {
  const [write, another] = [
    Put && readWrite('put', Put),
    Update && readWrite('update', Update),
    Delete && readWrite('delete', Delete),
    ConditionCheck && readWrite('check', ConditionCheck),
  ].filter((member) => member !== undefined);
  if (another) throw validationError('TransactItems can only contain one of Check, Put, Update or Delete');
  if (write) return write;
  throw validationError('Invalid Request: TransactWriteRequest should contain Delete or Put or Update request');
};

/**
 * @throws DynamoDbError if items have more than 4 MB. AWS does not document which sizes count; here the request, and
 * all items that it replaces or deletes.
 */
const assertSize = (bytes: readonly number[]): void => {
  const sum = bytes.reduce((total, size) => total + size, 0);
  if (sum > MAX_BYTES) throw validationError(`Transaction payload size cannot exceed 4MB. Payload Size: ${sum}`);
};

/** Returns a hash in which the order of attributes and of the members of sets is irrelevant. */
const fingerprintOf = (items: unknown): string =>
  createHash('sha256')
    .update(
      JSON.stringify(items, (name, value: unknown) => {
        if (Array.isArray(value)) return name === 'SS' ? value.toSorted() : value;
        if (typeof value !== 'object' || value === null) return value;
        return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
      }),
    )
    .digest('base64');

const apply = (context: Context, writes: readonly Write[]): AppliedItems => {
  const located = resultsOf(writes.map((write) => attempt(() => locate(context, write))));
  assertDistinct(located, 'Transaction request cannot include multiple operations on one item');
  const staged = resultsOf(located.map((write) => stage(context, write)));
  assertSize(staged.map(({ bytes }) => bytes));
  context.tables.write(staged.map(({ write, after }) => changeOf(write, after)));
  return staged.map(({ write: { access }, bytes }) => ({ access, bytes }));
};

type Attempt<Result> = { result: Result } | { reason: CancellationReason };

/** @throws DynamoDbError if there is a reason to cancel the transaction */
const resultsOf = <Result>(attempts: readonly Attempt<Result>[]): Result[] => {
  const results = attempts.flatMap((one) => ('result' in one ? [one.result] : []));
  if (results.length === attempts.length) return results;
  const reasons = attempts.map((one) => ('reason' in one ? one.reason : NONE));
  const codes = reasons.map(({ Code }) => Code).join(', ');
  throw exception(
    'TransactionCanceledException',
    `Transaction cancelled, please refer cancellation reasons for specific reasons [${codes}]`,
    { CancellationReasons: reasons },
  );
};

/** DynamoDB rejects an absent table and an empty key as a whole; other errors of an item cancel the transaction. */
const attempt = <Result>(act: () => Result): Attempt<Result> => {
  try {
    return { result: act() };
  } catch (error) {
    if (!(error instanceof DynamoDbError)) throw error;
    const { type, message, members } = error;
    const Code = /#ConditionalCheckFailed|#Validation/
      .exec(type)?.[0]
      .slice(1)
      .replace('Validation', 'ValidationError');
    if (Code === undefined || message.includes('cannot contain an empty')) throw error;
    return { reason: { Code, Message: message, ...members } };
  }
};

/** Checks and computes a write. `bytes` is the larger of its sizes before and after the transaction. */
const stage = (
  { throttling, conflicts }: Context,
  write: LocatedWrite,
): Attempt<{ write: LocatedWrite; after: StoredItem | undefined; bytes: number }> => {
  const { access, before } = write;
  if (throttling.reason(access)) return { reason: THROTTLING };
  if (conflicts.match(access)) return { reason: CONFLICT };
  // AWS does not document whether a cancelled transaction is charged; here it is, as if it had been applied.
  const bytesBefore = Math.max(before?.bytes ?? 0, write.write.kind === 'put' ? write.write.itemBytes : 0);
  const units = UNITS_FACTOR * writeUnits(bytesBefore);
  throttling.consume(access, units);
  return attempt(() => {
    const after = itemAfter(write);
    const bytes = Math.max(bytesBefore, after?.bytes ?? 0);
    throttling.consume(access, UNITS_FACTOR * writeUnits(bytes) - units);
    return { write, after, bytes };
  });
};
