import { setTimeout as pause } from 'node:timers/promises';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { ulid } from 'ulid';
import { createTokenRepository } from '../../shared/adapters/tokens/token-repository.ts';
import type { Role } from '../../shared/domain/authorization.ts';
import { webhookNotification } from './notifications.ts';
import type { RunningStack } from './running-stack.ts';

/** An answer of the API. `body` is parsed JSON, or the text where it is none. */
export type ApiAnswer = { status: number; headers: Headers; text: string; body: unknown };

/** The API as one caller sees it. */
export type Client = {
  tenant: string;
  token: string;
  get: (path: string) => Promise<ApiAnswer>;
  post: (path: string, body?: unknown) => Promise<ApiAnswer>;
  put: (path: string, body?: unknown) => Promise<ApiAnswer>;
  delete: (path: string) => Promise<ApiAnswer>;
  /** Creates a notification and answers its id. */
  create: (notification: unknown) => Promise<string>;
};

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
};

/** A valid notification. */
export const webhook = webhookNotification();

/** A tenant that no other test uses, so that tests can run beside each other. */
export const newTenant = (): string => `tenant-${ulid()}`;

/** The API and the tables of a running stack, as tests use them. */
export const connectApi = (stack: RunningStack) => {
  /** How the SDK reaches the local AWS, or nothing where it is the real one. */
  const awsOptions =
    stack.aws_endpoint === undefined
      ? {}
      : {
          endpoint: stack.aws_endpoint,
          region: 'us-east-1',
          credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
        };

  /** The tables of the running stack. */
  const documents = DynamoDBDocumentClient.from(new DynamoDBClient(awsOptions));

  /** The name of a table of the running stack, by a part of it. */
  const table = (part: string): string => {
    const found = stack.tables.find((name) => name.includes(part));
    if (found === undefined) throw new Error(`There is no table ${part}.`);
    return found;
  };

  /** A token for a tenant. */
  const tokenFor = (tenant: string, role: Role = 'admin'): Promise<string> =>
    createTokenRepository(documents, table('Tokens')).issue({
      tenant,
      role,
      label: 'test',
      expiresInSeconds: 1_000_000_000,
    });

  /** Calls the API: `body` is sent as it is where it is a text or bytes, and as JSON otherwise. */
  const call = async (
    method: string,
    path: string,
    {
      token,
      body,
      headers = {},
    }: { token?: string | undefined; body?: unknown; headers?: Record<string, string> } = {},
  ): Promise<ApiAnswer> => {
    const sent = typeof body === 'string' || body instanceof Uint8Array ? new Uint8Array(Buffer.from(body)) : undefined;
    const response = await fetch(path.startsWith('http') ? path : stack.base_url + path, {
      method,
      redirect: 'manual',
      headers: { ...(token !== undefined && { 'x-auth-token': token }), ...headers },
      ...(body !== undefined && { body: sent ?? JSON.stringify(body) }),
    });
    const text = await response.text();
    // The gateway of a deployed stack throttles its API, and says so in words of its own.
    if (response.status === 429 && !text.includes('"type"')) {
      await pause(500);
      return call(method, path, { token, body, headers });
    }
    return { status: response.status, headers: response.headers, text, body: parsed(text) };
  };

  /** A caller of a tenant of its own, or of the one given. */
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
        const answer = await post('/notifications', notification);
        if (answer.status !== 201) throw new Error(`not created: ${answer.status} ${answer.text}`);
        return answer.headers.get('location')?.split('/').at(-1) ?? '';
      },
    };
  };

  return { table, awsOptions, documents, tokenFor, call, newClient };
};
