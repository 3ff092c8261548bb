import { createHash } from 'node:crypto';
import type { Access, AppliedItems } from './access-rule.ts';
import { accessOf, type Context } from './context.ts';
import { DynamoDbError, exception, validationError } from './errors.ts';
import { type Operation, readUnits, writeUnits } from './partition-capacity.ts';
import { type Request, readRequest, requests } from './requests.ts';
import type { Key, StoredItem, Table } from './table.ts';
import { THROTTLED } from './throttling.ts';
import {
  changeOf,
  isPut,
  itemAfter,
  locate,
  readCheck,
  readDelete,
  readPut,
  readUpdateWrite,
  type Write,
} from './write.ts';

/** Why one item of a transaction cancels it; `None` if it does not. */
type CancellationReason = { Code: string; Message?: string; Item?: unknown };

const NONE: CancellationReason = { Code: 'None' };
const CONFLICT: CancellationReason = {
  Code: 'TransactionConflict',
  Message: 'Transaction is ongoing for the item',
};
/** The item is throttled, in an on-demand table. */
const THROTTLING: CancellationReason = {
  Code: 'ThrottlingError',
  Message: `${THROTTLED}: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html.`,
};

/** Transactions consume twice the units of other requests: DynamoDB prepares each item and then commits it. */
const TRANSACTION_FACTOR = 2;

const transactionUnits = (operation: Operation, bytes: number): number =>
  TRANSACTION_FACTOR * (operation === 'read' ? readUnits(bytes, true) : writeUnits(bytes));

/** Writes up to 100 items or none. Does not apply a request again whose token was used within ten minutes. */
export const transactWrite = (context: Context, parameters: unknown): object => {
  const { tokens, throttling } = context;
  const request = readRequest(requests.TransactWriteItems, parameters);
  const writes = request.TransactItems.map(readWrite);
  assertSize(writes.map(({ itemBytes, expressionBytes }) => itemBytes + expressionBytes));
  const token = request.ClientRequestToken;
  const use = token === undefined ? undefined : tokens.find(token);
  const fingerprint = token === undefined ? '' : fingerprintOf(request);
  if (use && use.fingerprint !== fingerprint) throw exception('IdempotentParameterMismatchException', '');
  if (use) {
    // A repeated request consumes the units of reading the items.
    for (const { access, bytes } of use.result) {
      throttling.consume({ ...access, operation: 'read' }, transactionUnits('read', bytes));
    }
    return {};
  }
  const applied = apply(context, writes);
  if (token !== undefined) tokens.add(token, fingerprint, applied);
  return {};
};

const readWrite = (item: Request<'TransactWriteItems'>['TransactItems'][number]): Write => {
  const [member, another] = Object.values(item).filter((value) => value !== undefined);
  if (!member) {
    throw validationError('Invalid Request: TransactWriteRequest should contain Delete or Put or Update request');
  }
  if (another) throw validationError('TransactItems can only contain one of Check, Put, Update or Delete');
  if (item.Put) return readPut(item.Put);
  if (item.Update) return readUpdateWrite(item.Update);
  if (item.Delete) return readDelete(item.Delete);
  if (item.ConditionCheck) return readCheck(item.ConditionCheck);
  throw new Error('An item of a transaction has no operation.');
};

const MAX_TRANSACTION_BYTES = 4 * 1024 * 1024;

/**
 * @throws DynamoDbError if items have more than 4 MB. AWS does not document which sizes count; here the request, and
 * all items that it replaces or deletes.
 */
const assertSize = (bytes: readonly number[]): void => {
  const sum = bytes.reduce((total, size) => total + size, 0);
  if (sum <= MAX_TRANSACTION_BYTES) return;
  throw validationError(`Transaction payload size cannot exceed 4MB. Payload Size: ${sum}`);
};

/** Returns a hash of the items of a request, in which the order of attributes and of the members of sets is irrelevant. */
const fingerprintOf = ({ TransactItems }: Request<'TransactWriteItems'>): string =>
  createHash('sha256')
    .update(JSON.stringify(canonical(TransactItems)))
    .digest('base64');

const canonical = (value: unknown, name = ''): unknown => {
  if (Array.isArray(value)) {
    const elements = value.map((element) => canonical(element));
    return /^[SNB]S$/.test(name) ? elements.toSorted() : elements;
  }
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(members.map(([key, element]) => [key, canonical(element, key)]));
};

/** An item whose condition was checked, unless it could not be admitted. */
type StagedItem = {
  access: Access;
  table: Table;
  key: Key;
  after: StoredItem | undefined;
  /** The larger of its sizes before and after the transaction. */
  bytes: number;
  reason: CancellationReason;
};

const apply = (context: Context, writes: readonly Write[]): AppliedItems => {
  const located = locateAll(context, writes);
  const staged = located.map((item) => stage(context, item));
  cancelIfNeeded(staged.map(({ reason }) => reason));
  assertSize(staged.map(({ bytes }) => bytes));
  context.tables.write(staged.map(({ table, key, after }) => changeOf(table, key, after)));
  return staged.map(({ access, bytes }) => ({ access, bytes }));
};

type LocatedWrite = { write: Write; table: Table; key: Key };

const locateAll = (context: Context, writes: readonly Write[]): LocatedWrite[] => {
  const results = writes.map((write) => {
    try {
      return { write, ...locate(context, write) };
    } catch (error) {
      return reasonOf(error);
    }
  });
  cancelIfNeeded(results.map((result) => ('Code' in result ? result : NONE)));
  const located = results.flatMap((result) => ('Code' in result ? [] : [result]));
  const ids = located.map(({ table, key }) => JSON.stringify([table.definition.name, key.partition, key.sort]));
  if (new Set(ids).size < ids.length) {
    throw validationError('Transaction request cannot include multiple operations on one item');
  }
  return located;
};

const cancelIfNeeded = (reasons: readonly CancellationReason[]): void => {
  if (reasons.every((reason) => reason === NONE)) return;
  const codes = reasons.map(({ Code }) => Code).join(', ');
  throw exception(
    'TransactionCanceledException',
    `Transaction cancelled, please refer cancellation reasons for specific reasons [${codes}]`,
    { CancellationReasons: reasons },
  );
};

/** DynamoDB rejects an absent table and an empty key as a whole, any other mismatch only in the transaction. */
const reasonOf = (error: unknown): CancellationReason => {
  if (!(error instanceof DynamoDbError)) throw error;
  const { type, message, members } = error;
  if (type.endsWith('#ConditionalCheckFailedException')) {
    return { Code: 'ConditionalCheckFailed', Message: message, ...members };
  }
  if (!type.endsWith('#ValidationException') || message.includes('cannot contain an empty')) throw error;
  return { Code: 'ValidationError', Message: message };
};

const stage = (context: Context, { write, table, key }: LocatedWrite): StagedItem => {
  const { throttling, conflicts } = context;
  const access = accessOf(context, 'write', table, write.item);
  const staged = { access, table, key, after: undefined, bytes: 0 };
  if (throttling.reason(access)) return { ...staged, reason: THROTTLING };
  if (conflicts.match(access)) return { ...staged, reason: CONFLICT };
  const before = table.get(key);
  const bytesBefore = Math.max(before?.bytes ?? 0, isPut(write) ? write.itemBytes : 0);
  // AWS does not document whether a cancelled transaction is charged; here it is, as if it had been applied.
  const units = transactionUnits('write', bytesBefore);
  throttling.consume(access, units);
  try {
    const after = itemAfter(write, key, before);
    const bytes = Math.max(bytesBefore, after?.bytes ?? 0);
    throttling.consume(access, transactionUnits('write', bytes) - units);
    return { ...staged, after, bytes, reason: NONE };
  } catch (error) {
    return { ...staged, bytes: bytesBefore, reason: reasonOf(error) };
  }
};
