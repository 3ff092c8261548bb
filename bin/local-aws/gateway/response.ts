import { z } from 'zod';

export type HttpResponse = {
  status: number;
  headers: Record<string, string>;
  body: string | Buffer;
};

const headerValue = z.union([z.string(), z.number(), z.boolean()]).transform(String);
const proxyResponse = z.object({
  statusCode: z.coerce.number().int().min(200).max(599),
  headers: z.record(z.string(), headerValue).nullish(),
  body: z.string().nullish(),
  isBase64Encoded: z.boolean().nullish(),
});

/** Returns an error response of the gateway, `{"message"}`, a format that an HTTP API cannot change. */
export const gatewayMessage = (status: number, message: string): HttpResponse => ({
  status,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ message }),
});

/** The response if a function fails or returns an invalid response. */
export const INTERNAL_SERVER_ERROR = gatewayMessage(500, 'Internal Server Error');

/** Converts the return value of a function (JSON text) in payload format 2.0. It must have a `statusCode`. */
export const httpResponse = (payload: string): HttpResponse => {
  const parsed = proxyResponse.safeParse(JSON.parse(payload));
  if (!parsed.success) return INTERNAL_SERVER_ERROR;
  const { statusCode, headers, body, isBase64Encoded } = parsed.data;
  return {
    status: statusCode,
    headers: {
      ...(body ? { 'content-type': 'text/plain; charset=utf-8' } : {}),
      ...forwardedHeaders(headers ?? {}),
    },
    body: isBase64Encoded ? Buffer.from(body ?? '', 'base64') : (body ?? ''),
  };
};

/** Headers that only the gateway sets. */
const CONNECTION_HEADERS = ['connection', 'content-length', 'keep-alive', 'transfer-encoding', 'upgrade'];

const forwardedHeaders = (headers: Record<string, string>): Record<string, string> => {
  const entries = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const);
  return Object.fromEntries(entries.filter(([name]) => !CONNECTION_HEADERS.includes(name)));
};
