import { createHash } from 'node:crypto';
import db, { type Store } from 'dynalite/db/index.js';
import type { Types, Validation } from 'dynalite/validations/index.js';
import { z } from 'zod';
import { type Attributes, attributesSchema } from './attributes.ts';
import { conditionCheck } from './condition-check.ts';
import {
  type Operation,
  operationOf,
  type Parameters,
  RETURN_VALUES_ON_FAILURE,
  type Validated,
  validate,
} from './dynalite.ts';
import { itemBytes, MAX_ITEM_BYTES } from './item-size.ts';

/** A part of a transaction: the write of one item. */
export type TransactionItem = {
  table: string;
  /** The item to put, or the key. */
  item: Attributes;
  isPut: boolean;
  operation: Operation;
  data: Validated;
  /** Whether a failed condition returns the item. */
  returnsItem: boolean;
  /** The size of what the request contains for this item. */
  requestBytes: number;
};

/** A transaction, validated as far as possible without its tables. */
export type TransactionRequest = {
  items: TransactionItem[];
  token: string | undefined;
  /** Identifies the parameters: equal only for requests that are the same. */
  fingerprint: string;
};

type Kind = { name: string; operation: Operation };

/** Returns the operation with only these parameters. */
const transactional = (name: string, { parameters, run }: Operation, members: readonly string[]): Kind => {
  const types = Object.fromEntries(members.map((member) => [member, parameters.types[member]]));
  return { name, operation: { parameters: { ...parameters, types }, run } };
};

const EXPRESSION = ['ExpressionAttributeNames', 'ExpressionAttributeValues'];
const CONDITION = ['ConditionExpression', ...EXPRESSION, ...Object.keys(RETURN_VALUES_ON_FAILURE)];

const WRITES = [
  transactional('ConditionCheck', conditionCheck, ['TableName', 'Key', ...CONDITION]),
  transactional('Put', operationOf('PutItem'), ['TableName', 'Item', ...CONDITION]),
  transactional('Delete', operationOf('DeleteItem'), ['TableName', 'Key', ...CONDITION]),
  transactional('Update', operationOf('UpdateItem'), ['TableName', 'Key', 'UpdateExpression', ...CONDITION]),
];
const parametersOf = (others: Types): Parameters => {
  const members = WRITES.map(({ name, operation }) => [
    name,
    { type: `FieldStruct<${name}>`, children: operation.parameters.types },
  ]);
  const TransactItems = {
    type: 'List',
    notNull: true,
    lengthGreaterThanOrEqual: 1,
    lengthLessThanOrEqual: 100,
    children: { type: 'ValueStruct<TransactItem>', children: Object.fromEntries(members) },
  };
  return { types: { ...others, TransactItems }, custom: validateItems };
};

/** The value as it is, so that the expressions that dynalite adds to a request remain in it. */
const member = z.custom<Validated>((value) => typeof value === 'object' && value !== null);
const requestSchema = z.object({
  TransactItems: z.array(z.record(z.string(), member)),
  ClientRequestToken: z.string().optional(),
});
const memberSchema = z.object({
  TableName: z.string(),
  Item: attributesSchema.optional(),
  Key: attributesSchema.default({}),
  ConditionExpression: z.string().default(''),
  UpdateExpression: z.string().default(''),
  ExpressionAttributeValues: attributesSchema.default({}),
  ReturnValuesOnConditionCheckFailure: z.string().optional(),
});

const validateItems: Validation = (request, store) => {
  const items = requestSchema.parse(request).TransactItems;
  for (const item of items) {
    const [[name = '', data] = [], ...more] = Object.entries(item);
    if (data === undefined) return EMPTY_ITEM;
    if (more.length > 0) return 'TransactItems can only contain one of Check, Put, Update or Delete';
    const message = validateItem(WRITES.find((kind) => kind.name === name)?.operation, data, store);
    if (message !== undefined) return message;
  }
  return undefined;
};

const EMPTY_ITEM = 'Invalid Request: TransactWriteRequest should contain Delete or Put or Update request';

const validateItem = (operation: Operation | undefined, data: Validated, store: Store): string | undefined => {
  const message = operation?.parameters.custom?.(data, store);
  if (message !== undefined) return message;
  const { Item = {} } = memberSchema.parse(data);
  return itemBytes(Item) > MAX_ITEM_BYTES ? 'Item size has exceeded the maximum allowed size' : undefined;
};

const PARAMETERS = parametersOf({
  ClientRequestToken: { type: 'String', lengthGreaterThanOrEqual: 1, lengthLessThanOrEqual: 36 },
  // Nothing asks for the capacity.
  ReturnConsumedCapacity: { type: 'String', enum: ['NONE'] },
});

/**
 * @throws the error of dynalite if items have more than 4 MB. AWS does not document which sizes count; here the
 * request, and all items that it replaces or deletes.
 */
export const rejectTooLarge = (bytes: readonly number[]): void => {
  const sum = bytes.reduce((total, size) => total + size, 0);
  if (sum <= MAX_TRANSACTION_BYTES) return;
  throw db.validationError(`Transaction payload size cannot exceed 4MB. Payload Size: ${sum}`);
};

const MAX_TRANSACTION_BYTES = 4 * 1024 * 1024;

/**
 * Reads and validates a `TransactWriteItems` request.
 *
 * @throws the error of dynalite if it is invalid
 */
export const readTransactWrite = (store: Store, body: Buffer): TransactionRequest => {
  const request = requestSchema.parse(validate(store, PARAMETERS, body));
  const items = request.TransactItems.flatMap((item) =>
    WRITES.flatMap(({ name, operation }) => {
      const data = item[name];
      return data ? [itemOf(operation, data)] : [];
    }),
  );
  rejectTooLarge(items.map(({ requestBytes }) => requestBytes));
  return {
    items,
    token: request.ClientRequestToken,
    fingerprint: fingerprintOf(body),
  };
};

const itemOf = (operation: Operation, data: Validated): TransactionItem => {
  const { TableName, Item, Key, ...rest } = memberSchema.parse(data);
  const values = Object.values(rest.ExpressionAttributeValues).reduce(
    (sum, value) => sum + itemBytes({ '': value }),
    0,
  );
  const expressions = Buffer.byteLength(rest.ConditionExpression) + Buffer.byteLength(rest.UpdateExpression);
  return {
    table: TableName,
    item: Item ?? Key,
    isPut: Item !== undefined,
    operation,
    data,
    returnsItem: rest.ReturnValuesOnConditionCheckFailure === 'ALL_OLD',
    requestBytes: itemBytes(Item ?? Key) + values + expressions,
  };
};

/**
 * Returns a hash of the items of a request, in which the order of attributes and of the members of sets is irrelevant.
 */
const fingerprintOf = (body: Buffer): string => {
  const { TransactItems } = z.object({ TransactItems: z.unknown() }).parse(JSON.parse(body.toString()));
  return createHash('sha256')
    .update(JSON.stringify(canonical(TransactItems)))
    .digest('base64');
};

const canonical = (value: unknown, name = ''): unknown => {
  if (Array.isArray(value)) {
    const elements = value.map((element) => canonical(element));
    return /^[SNB]S$/.test(name) ? elements.toSorted() : elements;
  }
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(members.map(([key, element]) => [key, canonical(element, key)]));
};
