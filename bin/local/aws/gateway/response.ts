import { z } from 'zod';

/** What goes back to the client. */
export type HttpResponse = {
  status: number;
  headers: Record<string, string | string[]>;
  body: string | Buffer;
};

const headerValue = z.union([z.string(), z.number(), z.boolean()]).transform(String);
const proxyResponse = z.object({
  statusCode: z.coerce.number().int().min(200).max(599),
  headers: z.record(z.string(), headerValue).nullish(),
  cookies: z.array(z.string()).nullish(),
  body: z.string().nullish(),
  isBase64Encoded: z.boolean().nullish(),
});

/** An answer of the gateway's own, in its shape `{"message"}`, which no HTTP API can change. */
export const gatewayMessage = (status: number, message: string): HttpResponse => ({
  status,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ message }),
});

/** The gateway's answer to a function that fails, or answers what no gateway can send on. */
export const INTERNAL_SERVER_ERROR = gatewayMessage(500, 'Internal Server Error');

/**
 * Reads what a function returned (JSON text), payload format 2.0: an object with a `statusCode` is the response; anything
 * else is the body of a 200.
 */
export const httpResponse = (payload: string): HttpResponse => {
  const returned: unknown = JSON.parse(payload);
  if (typeof returned !== 'object' || returned === null || !('statusCode' in returned)) {
    return { status: 200, headers: { 'content-type': 'application/json' }, body: payload };
  }
  const parsed = proxyResponse.safeParse(returned);
  if (!parsed.success) return INTERNAL_SERVER_ERROR;
  const { statusCode, headers, cookies, body, isBase64Encoded } = parsed.data;
  return {
    status: statusCode,
    headers: {
      ...(body ? { 'content-type': 'text/plain; charset=utf-8' } : {}),
      ...lowerCase(headers ?? {}),
      ...(cookies?.length ? { 'set-cookie': cookies } : {}),
    },
    body: isBase64Encoded ? Buffer.from(body ?? '', 'base64') : (body ?? ''),
  };
};

/** What only the gateway may say about the connection and the length. */
const ofTheConnection = ['connection', 'content-length', 'keep-alive', 'transfer-encoding', 'upgrade'];

const lowerCase = (headers: Record<string, string>): Record<string, string> => {
  const named = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const);
  return Object.fromEntries(named.filter(([name]) => !ofTheConnection.includes(name)));
};
