import type { z } from 'zod';
import { type AwsCall, type AwsResponse, jsonFault } from '../aws-service.ts';
import type { Context } from './context.ts';

/** The body of a request or a response, or undefined where it is not what the schema says. */
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

/** Sends a call on with another body, and as another action if one is given. */
export const sendWith = async ({ call, inner }: Context, body: object, action = call.action): Promise<AwsResponse> => {
  const headers = { ...call.headers, 'x-amz-target': `DynamoDB_20120810.${action}` };
  const changed: AwsCall = {
    ...call,
    action,
    headers,
    body: Buffer.from(JSON.stringify(body)),
  };
  return inner(changed);
};

/** A successful answer; without the checksum that dynalite computed for another body. */
export const success = (body: object): AwsResponse => ({
  status: 200,
  headers: { 'content-type': 'application/x-amz-json-1.0' },
  body: JSON.stringify(body),
});

/** What DynamoDB answers for a value that it does not take. */
export const validationException = (message: string): AwsResponse =>
  jsonFault({ status: 400, type: 'com.amazon.coral.validate#ValidationException', message });
