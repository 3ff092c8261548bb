import { externalDataInterceptor } from '@smithy/core/config';
import { type HttpHandler, type HttpRequest, HttpResponse } from '@smithy/core/protocols';
import { NodeHttpHandler, type NodeHttpHandlerOptions } from '@smithy/node-http-handler';
import { SignatureV4 } from '@smithy/signature-v4';
import type { HttpHandlerOptions, HttpRequest as SignedRequest } from '@smithy/types';
import { type AwsReply, type AwsRequest, contexts, currentContext } from './context.ts';

const bytesOf = (body: unknown): Buffer =>
  body instanceof Uint8Array
    ? Buffer.from(body.buffer, body.byteOffset, body.byteLength)
    : Buffer.from(String(body ?? ''));

const errorNamed = (name: string): Error => Object.assign(new Error(name), { name });

/** Returns a response as the SDK reads it. It takes bytes without a stream. */
export const responseOf = ({ status, headers, body }: AwsReply): HttpResponse =>
  new HttpResponse({ statusCode: status, headers: { ...headers }, body: new Uint8Array(Buffer.from(body)) });

/** `order`: that of `Context.turn`. */
export type CallOptions = HttpHandlerOptions & { order?: number };

/** Sends the requests of a client to the AWS of the current context, with the client's timeout for requests. */
export class SimulatedHttpHandler implements HttpHandler<NodeHttpHandlerOptions> {
  readonly metadata = { handlerProtocol: 'http/1.1' };
  readonly #options: NodeHttpHandlerOptions;

  constructor(options: NodeHttpHandlerOptions) {
    this.#options = options;
  }

  async handle({ path, headers, body }: HttpRequest, options?: CallOptions): Promise<{ response: HttpResponse }> {
    return { response: responseOf(await this.call({ path, headers, body: bytesOf(body) }, options)) };
  }

  /** Sends a request that may be none of HTTP. */
  async call(request: AwsRequest, options: CallOptions = {}): Promise<AwsReply> {
    const { abortSignal, requestTimeout = this.#options.requestTimeout ?? 0, order = 0 } = options;
    await currentContext().turn(order);
    return new Promise((resolve, reject) => {
      const timer =
        requestTimeout > 0 ? setTimeout(() => reject(errorNamed('TimeoutError')), requestTimeout) : undefined;
      if (abortSignal && 'addEventListener' in abortSignal)
        abortSignal.addEventListener('abort', () => reject(errorNamed('AbortError')));
      currentContext()
        .callAws(request)
        .then(resolve, reject)
        .finally(() => clearTimeout(timer));
    });
  }

  updateHttpClientConfig(): void {}

  httpHandlerConfigs(): NodeHttpHandlerOptions {
    return this.#options;
  }
}

const createReal = NodeHttpHandler.create.bind(NodeHttpHandler);

/**
 * Makes clients of the AWS SDK that are created in a simulation send their requests to the AWS of the current context.
 * Others stay as they are.
 */
export const replaceSdkTransport = (): void => {
  // The SDK would read them from the disk.
  for (const name of ['AWS_CONFIG_FILE', 'AWS_SHARED_CREDENTIALS_FILE']) {
    process.env[name] = name;
    externalDataInterceptor.interceptFile(name, '');
  }
  NodeHttpHandler.create = (options) => {
    if (!contexts.getStore() || (typeof options === 'object' && 'handle' in options)) return createReal(options);
    return new SimulatedHttpHandler(typeof options === 'object' ? options : {});
  };
  // Nothing verifies signatures, and they take a sixth of the time of a run.
  const { sign } = SignatureV4.prototype;
  Object.defineProperty(SignatureV4.prototype, 'sign', {
    value(this: SignatureV4, request: SignedRequest, ...others: []) {
      return contexts.getStore() ? Promise.resolve(request) : sign.call(this, request, ...others);
    },
  });
};
