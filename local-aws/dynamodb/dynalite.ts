import { createRequire } from 'node:module';
import db, { type Callback, type DynaliteError, type Store } from 'dynalite/db/index.js';
import validations, { type Types, type Validation } from 'dynalite/validations/index.js';
import type { AwsResponse, AwsService } from '../aws-service.ts';
import { expressionError } from './expression-error.ts';
import { JSON_HEADERS, serializationException, success, unknownOperation } from './protocol.ts';

/** A validated request, with its parsed expressions. */
export type Validated = Record<string, unknown>;

/** An operation of dynalite: the parameters by which it validates a request, and what it does. */
export type Operation = {
  parameters: Parameters;
  run(store: Store, data: Validated, callback: Callback<object>): void;
};

/** The types of parameters, and a check of what types do not express. */
export type Parameters = { types: Types; custom?: Validation };

/** A parameter of writes that dynalite does not have. */
export const RETURN_VALUES_ON_FAILURE: Types = {
  ReturnValuesOnConditionCheckFailure: { type: 'String', enum: ['ALL_OLD', 'NONE'] },
};

const WRITES = ['PutItem', 'UpdateItem', 'DeleteItem'] as const;
const OTHERS = [
  'BatchGetItem',
  'BatchWriteItem',
  'CreateTable',
  'DescribeTable',
  'GetItem',
  'ListTables',
  'Query',
  'Scan',
] as const;

const load = createRequire(import.meta.url);

const loadOperation = (name: string): Operation => {
  const file = `${name.charAt(0).toLowerCase()}${name.slice(1)}.js`;
  return { parameters: withChecks(load(`dynalite/validations/${file}`)), run: load(`dynalite/actions/${file}`) };
};

/** Adds what dynalite does not check. */
const withChecks = ({ types, custom }: Parameters): Parameters => ({
  types,
  custom: (data, store) => custom?.(data, store) ?? expressionError(data),
});

const withReturnValuesOnFailure = ({ parameters, run }: Operation): Operation => ({
  parameters: { ...parameters, types: { ...parameters.types, ...RETURN_VALUES_ON_FAILURE } },
  run,
});

const operations = new Map<string, Operation>([
  ...WRITES.map((name) => [name, withReturnValuesOnFailure(loadOperation(name))] as const),
  ...OTHERS.map((name) => [name, loadOperation(name)] as const),
]);

/** Returns an operation of dynalite. */
export const operationOf = (name: (typeof WRITES)[number] | (typeof OTHERS)[number]): Operation => {
  const operation = operations.get(name);
  if (!operation) throw new Error(`dynalite has no ${name}`);
  return operation;
};

/** Opens the tables of dynalite: in a directory, or in memory if there is none. */
export const openStore = (directory?: string): Store =>
  db.create({ createTableMs: 0, ...(directory !== undefined && { path: directory }) });

/** Serves the operations of dynalite without its HTTP server, which ends the process at an unexpected error. */
export const dynaliteService =
  (store: Store): AwsService =>
  async ({ action, body }) => {
    const operation = operations.get(action);
    if (!operation) return unknownOperation();
    return respond(async () => success(await run(store, operation, validate(store, operation.parameters, body))));
  };

/**
 * Validates a request.
 *
 * @throws the error of dynalite
 */
export const validate = (store: Store, { types, custom }: Parameters, body: Buffer): Validated => {
  const data = validations.checkTypes(JSON.parse(body.toString()), types);
  validations.checkValidations(data, types, custom, store);
  return data;
};

/** Runs an operation on a validated request. Rejects with the error of dynalite. */
export const run = (store: Store, operation: Pick<Operation, 'run'>, data: Validated): Promise<object> =>
  new Promise((resolve, reject) => {
    operation.run(store, data, (error, result = {}) => (error ? reject(error) : resolve(result)));
  });

/** Returns the response of `act`, or the error response with which dynalite rejected. */
export const respond = async (act: () => Promise<AwsResponse>): Promise<AwsResponse> => {
  try {
    return await act();
  } catch (error) {
    if (error instanceof SyntaxError) return serializationException();
    if (isDynaliteError(error)) return errorResponse(error);
    throw error;
  }
};

/** Returns the response of an error, with additional members. */
export const errorResponse = ({ statusCode, body }: DynaliteError, members: object = {}): AwsResponse => ({
  status: statusCode,
  headers: JSON_HEADERS,
  body: JSON.stringify({ ...body, ...members }),
});

/** Returns whether an error contains a response. */
export const isDynaliteError = (error: unknown): error is DynaliteError =>
  error instanceof Error && 'statusCode' in error && 'body' in error;

/** Returns whether the condition of a write was not met. */
export const isConditionFailure = ({ body }: DynaliteError): boolean =>
  body.__type.endsWith('#ConditionalCheckFailedException');
