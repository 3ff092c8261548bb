import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import type * as z from 'zod/mini';
import { describeIssues } from '../contracts/text.ts';
import { badRequest } from '../domain/errors.ts';

/** A request as the HTTP API hands it over (payload format 2.0). */
export type ApiRequest = APIGatewayProxyEventV2;

const utf8 = new TextDecoder('utf-8', { fatal: true });

const bodyText = ({ body = '', isBase64Encoded }: ApiRequest): string => {
  if (!isBase64Encoded) return body.replace(/^\uFEFF/, '');
  try {
    return utf8.decode(Buffer.from(body, 'base64'));
  } catch {
    throw badRequest('body: must be UTF-8');
  }
};

/** The JSON of the request's body, whatever its content type says. @throws ServiceError 400 */
export const jsonBody = (request: ApiRequest): unknown => {
  const text = bodyText(request);
  try {
    return JSON.parse(text);
  } catch {
    throw badRequest('body: must be valid JSON');
  }
};

/** The value of a parse that succeeded. @throws ServiceError 400 naming every failed field */
export const valid = <Value>(result: z.core.util.SafeParseResult<Value>): Value => {
  if (result.success) return result.data;
  throw badRequest(describeIssues(result.error));
};

/** A parameter of the route's path, decoded. */
export const pathParameter = (request: ApiRequest, name: string): string => request.pathParameters?.[name] ?? '';

/** The query as it came: the gateway's own parse joins repeated keys with commas (design 2). */
export const query = (request: ApiRequest): URLSearchParams => new URLSearchParams(request.rawQueryString);

/**
 * The request's own address, without its query: built from what the gateway says of itself, never from a header that a
 * client can set, so that links are right behind an API mapping and cannot be turned elsewhere.
 */
export const requestUrl = (request: ApiRequest, scheme: 'http' | 'https'): string =>
  `${scheme}://${request.requestContext.domainName}${encodeURI(request.rawPath)}`;
