import type { Store } from 'dynalite/db/index.js';
import type { AwsResponse } from '../aws-service.ts';
import type { AppliedItems } from './access-rule.ts';
import { NONE, reasonOf, transactionCanceled } from './cancellation.ts';
import type { CallContext } from './context.ts';
import { itemBytes } from './item-size.ts';
import { exception, success } from './protocol.ts';
import { commit, type StagedWrite, stageWrite } from './staged-write.ts';
import { type AdmittedItem, admit, transactionUnits } from './transaction-admission.ts';
import { invalidKeys } from './transaction-keys.ts';
import { readTransactWrite, rejectTooLarge, type TransactionRequest } from './transaction-request.ts';

/** Writes up to 100 items or none. Does not apply a request again whose token was used within ten minutes. */
export const transactWrite = async (context: CallContext): Promise<AwsResponse> => {
  const { call, store, tokens } = context;
  const request = readTransactWrite(store, call.body);
  const { token, fingerprint } = request;
  if (token === undefined) return (await write(context, request)).response;
  const use = tokens.begin(token, fingerprint);
  if (use.is === 'mismatch') return exception('IdempotentParameterMismatchException', '');
  if (use.is === 'in progress') return exception('TransactionInProgressException', 'Transaction is in progress');
  if (use.is === 'applied') return repeat(context, use.result);
  let applied: AppliedItems | undefined;
  try {
    const result = await write(context, request);
    applied = result.applied;
    return result.response;
  } finally {
    tokens.end(token, applied);
  }
};

/** Responds to a repeated request, which consumes the units of reading the items. */
const repeat = ({ throttling }: CallContext, applied: AppliedItems): AwsResponse => {
  for (const { access, bytes } of applied) {
    throttling.consume({ ...access, operation: 'read' }, transactionUnits('read', bytes));
  }
  return success({});
};

type Result = { response: AwsResponse; applied?: AppliedItems };

const write = async (context: CallContext, request: TransactionRequest): Promise<Result> => {
  const { store, locks } = context;
  const invalid = await invalidKeys(store, request.items);
  if (invalid) return { response: invalid };
  const admitted = admit(context, request.items);
  const unlock = locks.lock(admitted.filter(({ reason }) => reason === NONE).map(({ id }) => id));
  const staged: StagedItem[] = [];
  try {
    for (const item of admitted) staged.push(await stage(store, item));
    return await complete(context, staged);
  } finally {
    for (const { staging } of staged) staging?.release();
    unlock();
  }
};

/** An item whose condition was checked, unless it could not be admitted. */
type StagedItem = AdmittedItem & {
  staging?: StagedWrite;
  /** The larger of its sizes before and after the transaction. */
  bytes: number;
};

const stage = async (store: Store, item: AdmittedItem): Promise<StagedItem> => {
  if (item.reason !== NONE) return { ...item, bytes: 0 };
  const staging = await stageWrite(store, item.operation, item.data);
  const { outcome, before, bytesAfter } = staging;
  const bytes = Math.max(itemBytes(before ?? {}), bytesAfter);
  if (!('error' in outcome)) return { ...item, staging, bytes };
  return { ...item, staging, bytes, reason: reasonOf(outcome.error, item.returnsItem ? before : undefined) };
};

/** Applies all changes, or none if an item cancels the transaction. */
const complete = async ({ store, items, throttling }: CallContext, staged: readonly StagedItem[]): Promise<Result> => {
  // AWS does not document whether a cancelled transaction is charged; here it is, as if it had been applied.
  for (const { access, bytes, units } of staged) {
    throttling.consume(access, Math.max(0, transactionUnits('write', bytes) - units));
  }
  if (staged.some(({ reason }) => reason !== NONE)) {
    return { response: transactionCanceled(staged.map(({ reason }) => reason)) };
  }
  rejectTooLarge(staged.map(({ bytes }) => bytes));
  await commit(
    store,
    staged.flatMap(({ staging = [] }) => staging),
  );
  for (const { table, item, staging } of staged) items.setBytes(table, item, staging?.bytesAfter ?? 0);
  return { response: success({}), applied: staged.map(({ access, bytes }) => ({ access, bytes })) };
};
