import type { z } from 'zod';
import { type AwsCall, type AwsResponse, jsonFault } from '../aws-service.ts';
import type { CallContext } from './context.ts';

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
  const headers = { ...call.headers, 'x-amz-target': `DynamoDB_20120810.${action}` };
  const changed: AwsCall = {
    ...call,
    action,
    headers,
    body: Buffer.from(JSON.stringify(body)),
  };
  return inner(changed);
};

/** Returns a success response, without the checksum that dynalite computed for its own response. */
export const success = (body: object): AwsResponse => ({
  status: 200,
  headers: { 'content-type': 'application/x-amz-json-1.0' },
  body: JSON.stringify(body),
});

/** Returns the error for an invalid value. */
export const validationException = (message: string): AwsResponse =>
  jsonFault({ status: 400, type: 'com.amazon.coral.validate#ValidationException', message });
