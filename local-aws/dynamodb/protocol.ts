import type { z } from 'zod';
import { type AwsCall, type AwsResponse, jsonFault } from '../aws-service.ts';
import type { CallContext } from './context.ts';

/** The headers of every response. */
export const JSON_HEADERS = { 'content-type': 'application/x-amz-json-1.0' };

/** The prefix of the types of errors. */
const MODEL = 'com.amazonaws.dynamodb.v20120810#';

/** Parses the body of a request or response. Returns undefined if it does not match the schema. */
export const parsed = <Schema extends z.ZodType>(
  schema: Schema,
  body: string | Buffer,
): z.infer<Schema> | undefined => {
  try {
    return schema.safeParse(JSON.parse(body.toString())).data;
  } catch {
    return undefined;
  }
};

/** Forwards a call with another body and, optionally, another action. */
export const sendWith = async (
  { call, inner }: CallContext,
  body: object,
  action = call.action,
): Promise<AwsResponse> => {
  const changed: AwsCall = { ...call, action, body: Buffer.from(JSON.stringify(body)) };
  return inner(changed);
};

/** Returns a success response. */
export const success = (body: object): AwsResponse => ({
  status: 200,
  headers: JSON_HEADERS,
  body: JSON.stringify(body),
});

/** Returns an exception of DynamoDB; `members` are those of its body besides the message. */
export const exception = (name: string, message: string, members: Record<string, unknown> = {}): AwsResponse =>
  jsonFault({ status: 400, type: MODEL + name, message, members });

/** Returns the error for an invalid value. */
export const validationException = (message: string): AwsResponse =>
  jsonFault({ status: 400, type: 'com.amazon.coral.validate#ValidationException', message });

/** Returns the error for a body that is not JSON. */
export const serializationException = (message = 'The request is not JSON.'): AwsResponse =>
  jsonFault({ status: 400, type: 'com.amazon.coral.service#SerializationException', message });

/** Returns the error for an operation that does not exist here. */
export const unknownOperation = (): AwsResponse =>
  jsonFault({ status: 400, type: 'com.amazon.coral.service#UnknownOperationException', message: '' });
