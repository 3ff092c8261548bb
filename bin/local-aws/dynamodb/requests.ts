import { z } from 'zod';
import { serializationError, validationError } from './errors.ts';
import { readAttributes } from './read-value.ts';

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const struct = z.custom<Record<string, unknown>>(isObject);
const attributes = struct.transform((value) => readAttributes(value));
const table = z.object({
  TableName: z
    .string()
    .min(3)
    .max(255)
    .regex(/^[a-zA-Z0-9_.-]+$/),
});
const names = { ExpressionAttributeNames: z.record(z.string(), z.string()).optional() };
const values = { ExpressionAttributeValues: attributes.optional() };
const capacity = { ReturnConsumedCapacity: z.literal('TOTAL').optional() };

const conditional = {
  ...table.shape,
  ...names,
  ...values,
  ConditionExpression: z.string().optional(),
  ReturnValuesOnConditionCheckFailure: z.enum(['ALL_OLD', 'NONE']).optional(),
};
const put = { ...conditional, Item: attributes };
const keyed = { ...conditional, Key: attributes };
const update = { ...keyed, UpdateExpression: z.string().optional() };

const read = {
  ...names,
  ConsistentRead: z.boolean().optional(),
  ProjectionExpression: z.string().optional(),
};
const page = {
  ...table.shape,
  ...read,
  ...values,
  ...capacity,
  FilterExpression: z.string().optional(),
  Limit: z.int().min(1).optional(),
  ExclusiveStartKey: attributes.optional(),
  Select: z.literal('COUNT').optional(),
};
const writeRequest = z.strictObject({
  PutRequest: z.strictObject({ Item: attributes }).optional(),
  DeleteRequest: z.strictObject({ Key: attributes }).optional(),
});
const byTable = <Element extends z.ZodType>(element: Element) =>
  z.record(z.string(), element).refine((items) => Object.keys(items).length > 0);

/** The schemas of the requests, by operation: what this repository uses. They read values with normalized numbers. */
export const requests = {
  GetItem: z.strictObject({ ...table.shape, ...read, ...capacity, Key: attributes }),
  PutItem: z.strictObject({ ...put, ...capacity }),
  UpdateItem: z.strictObject({ ...update, ...capacity, ReturnValues: z.enum(['ALL_NEW', 'NONE']).optional() }),
  DeleteItem: z.strictObject({ ...keyed, ...capacity }),
  Query: z.strictObject({
    ...page,
    KeyConditionExpression: z.string().optional(),
    ScanIndexForward: z.boolean().optional(),
  }),
  Scan: z.strictObject(page),
  BatchGetItem: z.strictObject({
    RequestItems: byTable(z.strictObject({ ...read, Keys: z.array(attributes).min(1).max(100) })),
  }),
  BatchWriteItem: z.strictObject({ RequestItems: byTable(z.array(writeRequest).min(1)) }),
  TransactWriteItems: z.strictObject({
    ClientRequestToken: z.string().min(1).max(36).optional(),
    TransactItems: z
      .array(
        z.strictObject({
          ConditionCheck: z.strictObject({ ...keyed, ConditionExpression: z.string() }).optional(),
          Put: z.strictObject(put).optional(),
          Delete: z.strictObject(keyed).optional(),
          Update: z.strictObject({ ...update, UpdateExpression: z.string() }).optional(),
        }),
      )
      .min(1)
      .max(100),
  }),
  CreateTable: table.extend({
    KeySchema: z
      .array(z.strictObject({ AttributeName: z.string(), KeyType: z.enum(['HASH', 'RANGE']) }))
      .min(1)
      .max(2),
    AttributeDefinitions: z.array(z.strictObject({ AttributeName: z.string(), AttributeType: z.literal('S') })),
  }),
  DescribeTable: z.strictObject(table.shape),
  ListTables: z.strictObject({}),
};

export type Request<Name extends keyof typeof requests> = z.infer<(typeof requests)[Name]>;

/** Validates the parameters of a request. @throws DynamoDbError if they are invalid, or not supported */
export const readRequest = <Schema extends z.ZodType>(schema: Schema, parameters: unknown): z.infer<Schema> => {
  const { data, error } = schema.safeParse(parameters, { reportInput: true });
  if (!error) return data;
  const malformed = error.issues.find(
    ({ code, input }) => (code === 'invalid_type' || code === 'custom') && input !== undefined && !isEmpty(input),
  );
  if (malformed) throw serializationError(`Unexpected value at ${malformed.path.join('.')}`);
  throw validationError(z.prettifyError(error));
};

const isEmpty = (input: unknown): boolean => isObject(input) && Object.keys(input).length === 0;
