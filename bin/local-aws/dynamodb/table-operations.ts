import { LOCAL_ENV } from '../aws-service.ts';
import { StartError } from '../start-error.ts';
import type { Context } from './context.ts';
import { validationError } from './errors.ts';
import { type Request, readRequest, requests } from './requests.ts';
import type { KeyAttribute, Table, TableDefinition } from './table.ts';
import type { Tables } from './tables.ts';

/** A table as a template defines it. */
export type TableSettings = {
  name: string;
  keys: Request<'CreateTable'>['KeySchema'];
  attributes: Request<'CreateTable'>['AttributeDefinitions'];
};

/** Creates a table, which is active at once. */
export const createTable = ({ tables }: Context, parameters: unknown): object => {
  const {
    TableName: name,
    KeySchema: keys,
    AttributeDefinitions: attributes,
  } = readRequest(requests.CreateTable, parameters);
  return { TableDescription: describe(tables.create(definitionOf({ name, keys, attributes }))) };
};

/** Creates a table unless it exists. @throws StartError if it exists with other keys */
export const ensureTable = (tables: Tables, settings: TableSettings): void => {
  const definition = definitionOf(settings);
  const existing = tables.names.includes(definition.name) ? tables.get(definition.name) : tables.create(definition);
  if (JSON.stringify(existing.definition) === JSON.stringify(definition)) return;
  throw new StartError(
    `The table ${definition.name} in the data directory has other keys than the template: use another directory.`,
  );
};

const definitionOf = ({ name, keys, attributes }: TableSettings): TableDefinition => {
  const [partition, sort] = ['HASH', 'RANGE'].flatMap((type): KeyAttribute[] => {
    const key = keys.find(({ KeyType }) => KeyType === type)?.AttributeName;
    const definition = attributes.find(({ AttributeName }) => AttributeName === key);
    return key !== undefined && definition ? [{ name: key, type: definition.AttributeType }] : [];
  });
  if (partition && keys.length === (sort ? 2 : 1)) return { name, partition, ...(sort && { sort }) };
  throw validationError('One or more parameter values were invalid: KeySchema and AttributeDefinitions do not match');
};

export const describeTable = ({ tables }: Context, parameters: unknown): object => {
  const { TableName } = readRequest(requests.DescribeTable, parameters);
  return { Table: describe(tables.get(TableName, `Requested resource not found: Table: ${TableName} not found`)) };
};

const describe = ({ definition: { name, partition, sort }, count }: Table): object => {
  const keys = sort ? [partition, sort] : [partition];
  return {
    TableName: name,
    TableArn: `arn:aws:dynamodb:${LOCAL_ENV.region}:${LOCAL_ENV.account}:table/${name}`,
    TableStatus: 'ACTIVE',
    BillingModeSummary: { BillingMode: 'PAY_PER_REQUEST' },
    KeySchema: keys.map((key, index) => ({ AttributeName: key.name, KeyType: index === 0 ? 'HASH' : 'RANGE' })),
    AttributeDefinitions: keys.map((key) => ({ AttributeName: key.name, AttributeType: key.type })),
    ItemCount: count,
  };
};

/** Lists the tables by name. */
export const listTables = ({ tables }: Context, parameters: unknown): object => {
  readRequest(requests.ListTables, parameters);
  return { TableNames: tables.names };
};
