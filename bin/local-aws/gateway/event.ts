import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { LOCAL_ENV } from '../aws-service.ts';
import type { Match } from './routes.ts';

/** A request that matched a route, with its body read. */
export type GatewayRequest = {
  request: IncomingMessage;
  /** The raw path (percent-encoded), including the base path. */
  path: string;
  /** The raw query string, without `?`. */
  query: string;
  body: Buffer;
  match: Match;
};

/** The address of the API as `host:port`. */
export type Authority = string;

/** Returns the event of an HTTP API in payload format 2.0. */
export const httpApiEvent = ({ request, path, query, body, match }: GatewayRequest, authority: Authority): object => {
  const headers = eventHeaders(request, authority);
  const rawPath = decodeURIComponent(path);
  const { routeKey, ...content } = { routeKey: match.route.key, ...encodedBody(body, headers['content-type']) };
  return {
    version: '2.0',
    routeKey,
    rawPath,
    rawQueryString: query,
    headers,
    ...(query !== '' && { queryStringParameters: joined(new URLSearchParams(query)) }),
    ...(Object.keys(match.parameters).length > 0 && { pathParameters: match.parameters }),
    requestContext: context(request, rawPath, routeKey, authority),
    ...content,
  };
};

const context = (request: IncomingMessage, path: string, routeKey: string, authority: Authority): object => {
  return {
    accountId: LOCAL_ENV.account,
    apiId: 'local',
    domainName: authority,
    domainPrefix: authority.split('.')[0],
    http: {
      method: request.method,
      path,
      protocol: `HTTP/${request.httpVersion}`,
      sourceIp: request.socket.remoteAddress ?? '',
      userAgent: request.headers['user-agent'] ?? '',
    },
    requestId: crypto.randomUUID(),
    routeKey,
    stage: '$default',
    timeEpoch: Date.now(),
  };
};

/** Header names are lower case, and cookies are left out. Adds the `x-forwarded-*` headers. */
const eventHeaders = ({ headersDistinct, socket }: IncomingMessage, authority: Authority): Record<string, string> => {
  const { cookie: _, ...received } = headersDistinct;
  const headers = joined(
    Object.entries(received).flatMap(([name, values = []]) => values.map((value) => [name, value])),
  );
  return {
    ...headers,
    'x-forwarded-for': [headers['x-forwarded-for'], socket.remoteAddress].filter(Boolean).join(', '),
    'x-forwarded-port': authority.split(':')[1] ?? '',
    'x-forwarded-proto': 'http',
  };
};

/** Joins the values of a name with commas. A client may send any name, also `__proto__`. */
const joined = (pairs: Iterable<readonly [name: string, value: string]>): Record<string, string> => {
  const values = new Map<string, string>();
  for (const [name, value] of pairs) values.set(name, values.has(name) ? `${values.get(name)},${value}` : value);
  return Object.fromEntries(values);
};

const TEXT_TYPE = /^(text\/[^;]*|application\/(json|javascript|xml)|[^;/]+\/[^;]+\+(json|xml))\s*(;|$)/i;

/** The body is text if it has a text type and is valid UTF-8, otherwise base64; an empty body is absent. */
const encodedBody = (body: Buffer, contentType: string | undefined): { body?: string; isBase64Encoded: boolean } => {
  if (body.length === 0) return { isBase64Encoded: false };
  const isText = contentType !== undefined && TEXT_TYPE.test(contentType.trim()) && isUtf8(body);
  return { body: body.toString(isText ? 'utf8' : 'base64'), isBase64Encoded: !isText };
};
