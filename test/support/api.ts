import { setTimeout as sleep } from 'node:timers/promises';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { ulid } from 'ulid';
import { documentOptions } from '../../shared/adapters/dynamodb/items.ts';
import { createTokenRepository } from '../../shared/adapters/tokens/token-repository.ts';
import type { Role } from '../../shared/contracts/token.ts';
import { auditIn } from './audit.ts';
import { webhookNotification } from './notifications.ts';
import type { RunningStack } from './running-stack.ts';

/** A response of the API. `body` is the parsed JSON, or the text if it is not JSON. */
export type ReceivedResponse = { status: number; headers: Headers; text: string; body: unknown };

/** A client of the API with the token of a tenant. */
export type Client = {
  tenant: string;
  token: string;
  get: (path: string) => Promise<ReceivedResponse>;
  post: (path: string, body?: unknown) => Promise<ReceivedResponse>;
  put: (path: string, body?: unknown) => Promise<ReceivedResponse>;
  delete: (path: string) => Promise<ReceivedResponse>;
  /** Creates a notification. @returns its ID */
  create: (notification: unknown) => Promise<string>;
};

const parseJsonOrText = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
};

export const webhook = webhookNotification();

/** Returns a unique tenant ID, so that tests can run concurrently. */
export const newTenant = (): string => `tenant-${ulid()}`;

/** Connects to the API and the tables of a running stack. `onResponse` gets paths relative to the base URL. */
export const connectApi = (
  stack: RunningStack,
  onResponse: (method: string, path: string, response: ReceivedResponse) => void = () => undefined,
) => {
  /** Options of the AWS clients for a local stack. The environment configures them for a deployed stack. */
  const awsOptions =
    stack.aws_endpoint === undefined
      ? {}
      : {
          endpoint: stack.aws_endpoint,
          region: 'us-east-1',
          credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
        };

  const documents = DynamoDBDocumentClient.from(new DynamoDBClient(awsOptions), documentOptions);

  /** Returns the name of the table that contains this text. */
  const table = (namePart: string): string => {
    const found = stack.tables.find((name) => name.includes(namePart));
    if (found === undefined) throw new Error(`There is no table ${namePart}.`);
    return found;
  };

  const tokenFor = async (tenant: string, role: Role = 'admin'): Promise<string> => {
    const grant = { tenant, role, label: 'test', expiresInSeconds: 1_000_000_000, issuer: 'operator' };
    return (await createTokenRepository(documents, table('Tokens')).issue(grant, auditIn(table('Audits'), tenant)))
      .token;
  };

  /** Calls the API. A string or bytes are sent unchanged, any other body as JSON. */
  const call = async (
    method: string,
    path: string,
    {
      token,
      body,
      headers = {},
    }: { token?: string | undefined; body?: unknown; headers?: Record<string, string> } = {},
  ): Promise<ReceivedResponse> => {
    const rawBody =
      typeof body === 'string' || body instanceof Uint8Array ? new Uint8Array(Buffer.from(body)) : undefined;
    const url = path.startsWith('http') ? path : stack.base_url + path;
    const response = await fetch(url, {
      method,
      redirect: 'manual',
      headers: { ...(token !== undefined && { 'x-auth-token': token }), ...headers },
      ...(body !== undefined && { body: rawBody ?? JSON.stringify(body) }),
    });
    const text = await response.text();
    // The gateway of a deployed stack throttles requests, with its own response format.
    if (response.status === 429 && !text.includes('"type"')) {
      await sleep(500);
      return call(method, path, { token, body, headers });
    }
    const received = { status: response.status, headers: response.headers, text, body: parseJsonOrText(text) };
    const { origin, pathname } = new URL(url);
    onResponse(method, (origin + pathname).replace(stack.base_url, ''), received);
    return received;
  };

  /** Creates a client for a new tenant, or for the given one. */
  const newClient = async (role: Role = 'admin', tenant: string = newTenant()): Promise<Client> => {
    const token = await tokenFor(tenant, role);
    const post = (path: string, body?: unknown) => call('POST', path, { token, body });
    return {
      tenant,
      token,
      get: (path) => call('GET', path, { token }),
      post,
      put: (path, body) => call('PUT', path, { token, body }),
      delete: (path) => call('DELETE', path, { token }),
      create: async (notification) => {
        const { status, text, headers } = await post('/notifications', notification);
        if (status !== 201) throw new Error(`not created: ${status} ${text}`);
        return headers.get('location')?.split('/').at(-1) ?? '';
      },
    };
  };

  return { table, awsOptions, documents, tokenFor, call, newClient };
};
