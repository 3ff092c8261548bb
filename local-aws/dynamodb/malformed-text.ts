import { isUtf8 } from 'node:buffer';
import { type AwsResponse, jsonFault } from '../aws-service.ts';

/**
 * Returns an error if a string of the body is not valid Unicode: DynamoDB stores strings as UTF-8, which cannot encode
 * a lone surrogate, while dynalite would store it. AWS documents the encoding but not the error; this is the error for
 * a body that cannot be deserialized, which SDKs do not retry.
 */
export const malformedTextError = (body: Buffer): AwsResponse | undefined => {
  if (isUtf8(body) && !hasLoneSurrogate(body)) return undefined;
  return jsonFault({
    status: 400,
    type: 'com.amazon.coral.service#SerializationException',
    message: 'A string of the request is not valid Unicode: it contains a lone surrogate or bytes that are not UTF-8.',
  });
};

/** UTF-8 JSON can contain a lone surrogate only as an escape, so most bodies need no parsing. */
const hasLoneSurrogate = (body: Buffer): boolean => {
  if (!body.includes('\\ud') && !body.includes('\\uD')) return false;
  try {
    return !isWellFormed(JSON.parse(body.toString()));
  } catch {
    return false;
  }
};

const isWellFormed = (value: unknown): boolean => {
  if (typeof value === 'string') return value.isWellFormed();
  if (typeof value !== 'object' || value === null) return true;
  return Object.entries(value).every(([name, element]) => name.isWellFormed() && isWellFormed(element));
};
