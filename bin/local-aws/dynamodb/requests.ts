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
const capacity = { ReturnConsumedCapacity: z.enum(['INDEXES', 'TOTAL', 'NONE']).optional() };
const metrics = { ReturnItemCollectionMetrics: z.enum(['SIZE', 'NONE']).optional() };

const conditional = {
  ...table.shape,
  ...names,
  ...values,
  ConditionExpression: z.string().optional(),
  ReturnValuesOnConditionCheckFailure: z.enum(['ALL_OLD', 'NONE']).optional(),
};
const returned = z.enum(['ALL_NEW', 'UPDATED_OLD', 'ALL_OLD', 'NONE', 'UPDATED_NEW']).optional();
const single = { ...capacity, ...metrics, ReturnValues: returned };
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
  Select: z.enum(['SPECIFIC_ATTRIBUTES', 'COUNT', 'ALL_ATTRIBUTES', 'ALL_PROJECTED_ATTRIBUTES']).optional(),
};
const writeRequest = z.strictObject({
  PutRequest: z.strictObject({ Item: attributes }).optional(),
  DeleteRequest: z.strictObject({ Key: attributes }).optional(),
});
const byTable = <Element extends z.ZodType>(element: Element) =>
  z.record(z.string(), element).refine((items) => Object.keys(items).length > 0, { params: { min: 1 } });

/** The schemas of the requests, by operation. They read values with normalized numbers. */
export const requests = {
  GetItem: z.strictObject({ ...table.shape, ...read, ...capacity, Key: attributes }),
  PutItem: z.strictObject({ ...put, ...single }),
  UpdateItem: z.strictObject({ ...update, ...single }),
  DeleteItem: z.strictObject({ ...keyed, ...single }),
  Query: z.strictObject({
    ...page,
    KeyConditionExpression: z.string().optional(),
    ScanIndexForward: z.boolean().optional(),
  }),
  Scan: z.strictObject(page),
  BatchGetItem: z.strictObject({
    ...capacity,
    RequestItems: byTable(z.strictObject({ ...read, Keys: z.array(attributes).min(1).max(100) })),
  }),
  BatchWriteItem: z.strictObject({ ...capacity, ...metrics, RequestItems: byTable(z.array(writeRequest).min(1)) }),
  TransactWriteItems: z.strictObject({
    ...capacity,
    ...metrics,
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
    AttributeDefinitions: z.array(
      z.strictObject({ AttributeName: z.string(), AttributeType: z.enum(['S', 'N', 'B']) }),
    ),
  }),
  DescribeTable: z.strictObject(table.shape),
  ListTables: z.strictObject({
    ExclusiveStartTableName: z.string().optional(),
    Limit: z.int().min(1).max(100).optional(),
  }),
};

/** The parameters of a request. */
export type Request<Name extends keyof typeof requests> = z.infer<(typeof requests)[Name]>;

/**
 * Validates the parameters of a request.
 *
 * @throws DynamoDbError if they are invalid
 */
export const readRequest = <Schema extends z.ZodType>(schema: Schema, parameters: unknown): z.infer<Schema> => {
  const result = schema.safeParse(parameters, { reportInput: true });
  if (result.success) return result.data;
  const { issues } = result.error;
  const malformed = issues.find(
    ({ code, input }) => (code === 'invalid_type' || code === 'custom') && input !== undefined && !isEmpty(input),
  );
  if (malformed) throw serializationError(`Unexpected value at ${memberOf(malformed.path)}`);
  const problems = issues.map(
    (issue) =>
      `Value ${textOf(issue.input)} at '${memberOf(issue.path)}' failed to satisfy constraint: ${constraintOf(issue)}`,
  );
  throw validationError(
    `${issues.length} validation error${issues.length > 1 ? 's' : ''} detected: ${problems.join('; ')}`,
  );
};

const isEmpty = (input: unknown): boolean => isObject(input) && Object.keys(input).length === 0;

const memberOf = (path: readonly PropertyKey[]): string =>
  path
    .map((element) =>
      typeof element === 'number'
        ? `${element + 1}.member`
        : String(element).replace(/^./, (first) => first.toLowerCase()),
    )
    .join('.');

const textOf = (input: unknown): string =>
  input === undefined ? 'null' : `'${typeof input === 'string' ? input : JSON.stringify(input)}'`;

const constraintOf = (issue: z.core.$ZodIssue): string => {
  const of = 'origin' in issue && issue.origin !== 'number' && issue.origin !== 'int' ? 'length' : 'value';
  if (issue.code === 'too_small') return `Member must have ${of} greater than or equal to ${issue.minimum}`;
  if (issue.code === 'too_big') return `Member must have ${of} less than or equal to ${issue.maximum}`;
  if (issue.code === 'invalid_value') return `Member must satisfy enum value set: [${issue.values.join(', ')}]`;
  if (issue.code === 'invalid_format') return 'Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+';
  if (issue.code === 'unrecognized_keys') return `The local AWS does not support ${issue.keys.join(', ')}`;
  return issue.input === undefined ? 'Member must not be null' : 'Member must have length greater than or equal to 1';
};
