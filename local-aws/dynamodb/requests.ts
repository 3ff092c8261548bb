import { z } from 'zod';
import { attributesSchema } from './attributes.ts';

const table = z.object({ TableName: z.string() });
const tableKeys = table.extend({
  KeySchema: z.array(z.object({ AttributeName: z.string(), KeyType: z.enum(['HASH', 'RANGE']) })),
});
const keyed = table.extend({ Key: attributesSchema });

const batchGet = z.looseObject({
  RequestItems: z.record(
    z.string(),
    z.looseObject({ Keys: z.array(attributesSchema), ConsistentRead: z.boolean().optional() }),
  ),
});
/** A request to read up to 100 items. */
export type BatchGetRequest = z.infer<typeof batchGet>;

const write = z.union([
  z.object({ PutRequest: z.object({ Item: attributesSchema }) }),
  z.object({ DeleteRequest: z.object({ Key: attributesSchema }) }),
]);
/** One write of a batch. */
export type Write = z.infer<typeof write>;

const batchWrite = z.looseObject({ RequestItems: z.record(z.string(), z.array(write)) });
/** A request to write up to 25 items. */
export type BatchWriteRequest = z.infer<typeof batchWrite>;

const query = z.looseObject({
  TableName: z.string(),
  ConsistentRead: z.boolean().optional(),
  KeyConditionExpression: z.string().optional(),
  ExpressionAttributeNames: z.record(z.string(), z.string()).optional(),
  ExpressionAttributeValues: attributesSchema.optional(),
  ReturnConsumedCapacity: z.string().optional(),
});
/** A request to read the items of one partition key value. */
export type QueryRequest = z.infer<typeof query>;

/** The parameters of each request that determine its consumed capacity. dynalite rejects requests that do not parse. */
export const requests = {
  CreateTable: tableKeys,
  GetItem: keyed.extend({ ConsistentRead: z.boolean().optional() }),
  PutItem: table.extend({ Item: attributesSchema }),
  UpdateItem: keyed,
  DeleteItem: keyed,
  BatchGetItem: batchGet,
  BatchWriteItem: batchWrite,
  Query: query,
  Scan: table,
};

/** The parameters of each response that determine the consumed capacity. */
export const responses = {
  BatchGetItem: z.looseObject({
    Responses: z.record(z.string(), z.array(z.unknown())).default({}),
    ConsumedCapacity: z.array(z.unknown()).optional(),
  }),
  Query: z.looseObject({ ConsumedCapacity: z.object({ CapacityUnits: z.number() }).optional() }),
};

/** The response of `DescribeTable`. */
export const describedTable = z.object({ Table: tableKeys });
