import { AsyncLocalStorage } from 'node:async_hooks';
import type { AwsResponse } from 'local-aws/aws-service.ts';
import type { Clock } from 'local-aws/clock.ts';
import type { Random } from './random.ts';

/** What the replaced functions of Node.js use: of an execution environment of a function, or of the world around it. */
export type Context = {
  time: Clock;
  /** How far the clock is ahead of the world's, in ms. */
  skewMs: number;
  random: Random;
  /** `process.env`. */
  variables: Readonly<Record<string, string>>;
  /** Called with what is written to the standard output. */
  write: (text: string) => void;
  /** Makes what happened outside happen inside: later if the environment is frozen, never if it was killed. */
  deliver: (act: () => void) => void;
  callAws: AwsTransport;
  /**
   * Resolves when a request of the AWS SDK may be sent. Requests that are made at the same time are sent in the order in
   * which the service made them, which must not depend on what the SDK does in between.
   */
  turn: (order: number) => Promise<void>;
  isSerialized: boolean;
  /** Sends any other HTTP request. */
  internet: Internet;
};

/** A request of the AWS SDK, as it is sent or, if it is not serialized, with its input as the JSON protocols have it. */
export type AwsRequest =
  | { path: string; headers: Readonly<Record<string, string>>; body: Buffer }
  | { service: string; action: string; input: object };

export type AwsReply = Pick<AwsResponse, 'status' | 'headers' | 'body' | 'output'>;

/** Sends a request of the AWS SDK. The promise never settles if the response is lost; the SDK has timeouts. */
export type AwsTransport = (request: AwsRequest) => Promise<AwsReply>;

export type HttpRequest = { url: string; headers: Readonly<Record<string, string>>; body: string };

/**
 * How a receiver ends a request: with a response, by closing the connection, or never. The parser of Node.js rejects the
 * headers of an odd response. A reused connection was idle, and the receiver closed it meanwhile.
 */
export type HttpReply =
  | {
      kind: 'response';
      status: number;
      headers?: Readonly<Record<string, string>>;
      body?: string;
      isOdd?: boolean;
      afterMs: number;
    }
  | { kind: 'closed'; isReused?: boolean; afterMs: number }
  | { kind: 'silence' };

export type Internet = {
  /** Returns the addresses of a host name. @throws an error with the code of `dns.lookup` */
  resolve: (hostname: string) => { address: string; family: number }[];
  send: (request: HttpRequest) => HttpReply;
};

export const contexts = new AsyncLocalStorage<Context>();

/** Returns who runs. @throws Error outside a simulation */
export const currentContext = (): Context => {
  const context = contexts.getStore();
  if (!context) throw new Error('This code runs outside a simulation.');
  return context;
};
