import { LOCAL_ENV } from '../aws-service.ts';
import type { Context } from './context.ts';
import { validationError } from './errors.ts';
import { type Request, readRequest, requests } from './requests.ts';
import type { KeyAttribute, Table } from './table.ts';

/** Creates a table, which is active at once. */
export const createTable = ({ tables }: Context, parameters: unknown): object => {
  const request = readRequest(requests.CreateTable, parameters);
  const partition = keyAttribute(request, 'HASH');
  if (!partition) throw validationError('Invalid KeySchema: The first KeySchemaElement is not a HASH key type');
  const table = tables.create({ name: request.TableName, partition, sort: keyAttribute(request, 'RANGE') });
  return { TableDescription: describe(table) };
};

const keyAttribute = (
  { KeySchema, AttributeDefinitions }: Request<'CreateTable'>,
  type: 'HASH' | 'RANGE',
): KeyAttribute | undefined => {
  const name = KeySchema.find(({ KeyType }) => KeyType === type)?.AttributeName;
  if (name === undefined) return undefined;
  const definition = AttributeDefinitions.find(({ AttributeName }) => AttributeName === name);
  if (definition) return { name, type: definition.AttributeType };
  throw validationError(
    `One or more parameter values were invalid: Some index key attributes are not defined in AttributeDefinitions. Keys: [${name}]`,
  );
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

/** Lists the tables by name, up to 100. */
export const listTables = ({ tables }: Context, parameters: unknown): object => {
  const { ExclusiveStartTableName: start = '', Limit = 100 } = readRequest(requests.ListTables, parameters);
  const names = tables.names.filter((name) => name > start);
  const TableNames = names.slice(0, Limit);
  return { TableNames, ...(names.length > Limit && { LastEvaluatedTableName: TableNames.at(-1) }) };
};
