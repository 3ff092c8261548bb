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
  const { cookies, headers } = eventHeaders(request, authority);
  const rawPath = decodeURIComponent(path);
  const { routeKey, ...content } = { routeKey: match.route.key, ...encodedBody(body, headers['content-type']) };
  return {
    version: '2.0',
    routeKey,
    rawPath,
    rawQueryString: query,
    ...(cookies.length > 0 && { cookies }),
    headers,
    ...(query !== '' && { queryStringParameters: parameters(query) }),
    ...(Object.keys(match.parameters).length > 0 && { pathParameters: match.parameters }),
    requestContext: context(request, rawPath, routeKey, authority),
    ...content,
  };
};

const context = (request: IncomingMessage, path: string, routeKey: string, authority: Authority): object => {
  const now = new Date();
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
    time: commonLogTime(now),
    timeEpoch: now.getTime(),
  };
};

/**
 * Header names are lower case, repeated headers are joined with commas, and cookies are separate. Adds the
 * `x-forwarded-*` headers.
 */
const eventHeaders = ({ rawHeaders, socket }: IncomingMessage, authority: Authority) => {
  const headers: Record<string, string> = {};
  const cookies: string[] = [];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = (rawHeaders[index] ?? '').toLowerCase();
    const value = rawHeaders[index + 1] ?? '';
    if (name === 'cookie') cookies.push(...value.split(/;\s*/));
    else setProperty(headers, name, Object.hasOwn(headers, name) ? `${headers[name]},${value}` : value);
  }
  const forwardedFor = [headers['x-forwarded-for'], socket.remoteAddress].filter(Boolean).join(', ');
  headers['x-forwarded-for'] = forwardedFor;
  headers['x-forwarded-port'] = authority.split(':')[1] ?? '';
  headers['x-forwarded-proto'] = 'http';
  return { headers, cookies };
};

const parameters = (query: string): Record<string, string> => {
  const joined: Record<string, string> = {};
  for (const [name, value] of new URLSearchParams(query)) {
    setProperty(joined, name, Object.hasOwn(joined, name) ? `${joined[name]},${value}` : value);
  }
  return joined;
};

/** Sets an own property, whatever its name: a client may send `__proto__`. */
const setProperty = (target: Record<string, string>, name: string, value: string): void => {
  if (name === '__proto__') Object.defineProperty(target, name, { value, enumerable: true, configurable: true });
  else target[name] = value;
};

const TEXT_TYPE = /^(text\/[^;]*|application\/(json|javascript|xml)|[^;/]+\/[^;]+\+(json|xml))\s*(;|$)/i;

/** The body is text if it has a text type and is valid UTF-8, otherwise base64; an empty body is absent. */
const encodedBody = (body: Buffer, contentType: string | undefined): { body?: string; isBase64Encoded: boolean } => {
  if (body.length === 0) return { isBase64Encoded: false };
  const isText = contentType !== undefined && TEXT_TYPE.test(contentType.trim()) && isUtf8(body);
  return { body: body.toString(isText ? 'utf8' : 'base64'), isBase64Encoded: !isText };
};

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** Formats a time as `12/Mar/2026:19:03:58 +0000`. */
const commonLogTime = (time: Date): string => {
  const day = String(time.getUTCDate()).padStart(2, '0');
  return `${day}/${MONTHS[time.getUTCMonth()]}/${time.getUTCFullYear()}:${time.toISOString().slice(11, 19)} +0000`;
};
