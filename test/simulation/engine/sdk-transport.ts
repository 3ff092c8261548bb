import { type HttpHandler, type HttpRequest, HttpResponse } from '@smithy/core/protocols';
import { NodeHttpHandler, type NodeHttpHandlerOptions } from '@smithy/node-http-handler';
import type { HttpHandlerOptions } from '@smithy/types';
import { contexts, currentContext } from './context.ts';

/** A body as `collectBody` of the service reads it: all of it at once. */
const bodyOf = (content: string | Buffer) => {
  const body = {
    on(event: string, listener: (part?: Uint8Array) => void) {
      if (event === 'data') listener(Buffer.from(content));
      if (event === 'end') listener();
      return body;
    },
  };
  return body;
};

const errorNamed = (name: string): Error => Object.assign(new Error(name), { name });

/** Sends the requests of a client to the AWS of the current context, with the client's timeout for requests. */
class SimulatedHttpHandler implements HttpHandler<NodeHttpHandlerOptions> {
  readonly metadata = { handlerProtocol: 'http/1.1' };
  readonly #options: NodeHttpHandlerOptions;

  constructor(options: NodeHttpHandlerOptions) {
    this.#options = options;
  }

  handle(request: HttpRequest, options: HttpHandlerOptions = {}): Promise<{ response: HttpResponse }> {
    const { abortSignal, requestTimeout = this.#options.requestTimeout ?? 0 } = options;
    const { path, headers, body } = request;
    return new Promise((resolve, reject) => {
      const timer =
        requestTimeout > 0 ? setTimeout(() => reject(errorNamed('TimeoutError')), requestTimeout) : undefined;
      if (abortSignal && 'addEventListener' in abortSignal)
        abortSignal.addEventListener('abort', () => reject(errorNamed('AbortError')));
      currentContext()
        .callAws({ path, headers, body: Buffer.from(body ?? '') })
        .then((reply) => {
          resolve({
            response: new HttpResponse({
              statusCode: reply.status,
              headers: { ...reply.headers },
              body: bodyOf(reply.body),
            }),
          });
        }, reject)
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
  NodeHttpHandler.create = (options) =>
    contexts.getStore() && typeof options === 'object' && !('handle' in options)
      ? new SimulatedHttpHandler(options)
      : createReal(options);
};
