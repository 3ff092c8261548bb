import { isUtf8 } from 'node:buffer';
import { type AwsResponse, jsonFault } from '../aws-service.ts';

/**
 * The refusal of a body whose text has no UTF-8 form: DynamoDB stores strings as UTF-8, in which a lone surrogate cannot be
 * written. AWS documents the encoding but not the error; here it is the one for a body that cannot be deserialized,
 * which no SDK retries. dynalite would store such a string.
 */
export const malformedTextError = (body: Buffer): AwsResponse | undefined => {
  if (isUtf8(body) && !hasLoneSurrogate(body)) return undefined;
  return jsonFault({
    status: 400,
    type: 'com.amazon.coral.service#SerializationException',
    message: 'A string of the request is not valid Unicode: it holds a lone surrogate or bytes that are not UTF-8.',
  });
};

/** JSON can hold a lone surrogate only as an escape, so nearly every body is decided without being parsed. */
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
