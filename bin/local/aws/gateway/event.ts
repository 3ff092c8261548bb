import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { LOCAL_ENV } from '../aws-service.ts';
import type { Match } from './routes.ts';

/** A request as the gateway has taken it in. */
export type GatewayRequest = {
  request: IncomingMessage;
  /** The path as it was sent, encoded, the base path included. */
  path: string;
  /** What follows the first `?`, as it was sent. */
  query: string;
  body: Buffer;
  match: Match;
};

/** Where the API listens, as `host:port`: what links are built from. */
export type Authority = string;

/** The event of an HTTP API, payload format 2.0. */
export const httpApiEvent = ({ request, path, query, body, match }: GatewayRequest, authority: Authority): object => {
  const { cookies, headers } = readHeaders(request, authority);
  const rawPath = decodeURIComponent(path);
  const { routeKey, ...content } = { routeKey: match.route.key, ...encoded(body, headers['content-type']) };
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

/** Names in lower case, repeated ones joined by commas; cookies stand apart. The gateway adds the `x-forwarded-*` ones. */
const readHeaders = ({ rawHeaders, socket }: IncomingMessage, authority: Authority) => {
  const headers: Record<string, string> = {};
  const cookies: string[] = [];
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = (rawHeaders[at] ?? '').toLowerCase();
    const value = rawHeaders[at + 1] ?? '';
    if (name === 'cookie') cookies.push(...value.split(/;\s*/));
    else put(headers, name, Object.hasOwn(headers, name) ? `${headers[name]},${value}` : value);
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
    put(joined, name, Object.hasOwn(joined, name) ? `${joined[name]},${value}` : value);
  }
  return joined;
};

/** Sets an own property, whatever its name: a client may well send `__proto__`. */
const put = (target: Record<string, string>, name: string, value: string): void => {
  if (name === '__proto__') Object.defineProperty(target, name, { value, enumerable: true, configurable: true });
  else target[name] = value;
};

const textType = /^(text\/[^;]*|application\/(json|javascript|xml)|[^;/]+\/[^;]+\+(json|xml))\s*(;|$)/i;

/** The body is text where its type says so and it is valid UTF-8, base64 otherwise, absent when there is none. */
const encoded = (body: Buffer, contentType: string | undefined): { body?: string; isBase64Encoded: boolean } => {
  if (body.length === 0) return { isBase64Encoded: false };
  const isText = contentType !== undefined && textType.test(contentType.trim()) && isUtf8(body);
  return { body: body.toString(isText ? 'utf8' : 'base64'), isBase64Encoded: !isText };
};

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** `12/Mar/2026:19:03:58 +0000` */
const commonLogTime = (time: Date): string => {
  const day = String(time.getUTCDate()).padStart(2, '0');
  return `${day}/${months[time.getUTCMonth()]}/${time.getUTCFullYear()}:${time.toISOString().slice(11, 19)} +0000`;
};
