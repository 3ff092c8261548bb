import { EventEmitter } from 'node:events';
import { isIP } from 'node:net';
import { currentContext, type HttpReply } from './context.ts';

/*
 * The modules of Node.js through which the service reaches the network, as its code sees them. Only what
 * `shared/adapters/outbound-http` uses is there.
 */

type Address = { address: string; family: number };
type LookupCallback = (error: Error | null, addresses: Address[] | string) => void;
type AgentOptions = {
  keepAlive?: boolean;
  lookup?: (hostname: string, options: { all: true }, callback: LookupCallback) => void;
};

class Agent {
  readonly options: AgentOptions;
  readonly freeSockets = {};
  constructor(options: AgentOptions = {}) {
    this.options = options;
  }
  destroy(): void {}
}

type RequestOptions = { method: string; agent: Agent; headers: Record<string, string> };

class IncomingMessage extends EventEmitter {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  #isDestroyed = false;
  constructor(statusCode: number, headers: Readonly<Record<string, string>>) {
    super();
    this.statusCode = statusCode;
    this.headers = headers;
  }
  destroy(): this {
    if (!this.#isDestroyed) {
      this.#isDestroyed = true;
      this.emit('close');
    }
    return this;
  }
  receive(body: string): void {
    if (this.#isDestroyed) return;
    if (body !== '') this.emit('data', Buffer.from(body));
    this.emit('end');
    this.destroy();
  }
}

const networkError = (code: string): Error => Object.assign(new Error(code), { code });

/** A request, whose events are those that `http-client.ts` waits for. */
class ClientRequest extends EventEmitter {
  reusedSocket = false;
  readonly #socket = new EventEmitter();
  readonly #url: URL;
  readonly #options: RequestOptions;
  #isEnded = false;

  constructor(url: URL, options: RequestOptions) {
    super();
    this.#url = url;
    this.#options = options;
  }

  end(body: string): void {
    const { hostname } = this.#url;
    const { lookup } = this.#options.agent.options;
    if (isIP(hostname.replace(/^\[|\]$/g, '')) || !lookup) this.#send(body);
    else lookup(hostname, { all: true }, (error) => (error ? this.destroy(error) : this.#send(body)));
  }

  destroy(error?: Error): this {
    if (this.#isEnded) return this;
    this.#isEnded = true;
    if (error) this.emit('error', error);
    this.emit('close');
    return this;
  }

  #send(body: string): void {
    const { internet } = currentContext();
    const { headers, agent } = this.#options;
    this.emit('socket', this.#socket);
    // As Node.js, which has new connections only without `keepAlive`.
    const connection = agent.options.keepAlive ? 'keep-alive' : 'close';
    const reply = internet.send({ url: this.#url.href, headers: { ...headers, connection }, body });
    if (reply.kind === 'silence') return;
    setTimeout(() => this.#receive(reply), reply.afterMs);
  }

  #receive(reply: Exclude<HttpReply, { kind: 'silence' }>): void {
    if (this.#isEnded) return;
    if (reply.kind === 'closed') {
      this.reusedSocket = reply.isReused ?? false;
      this.destroy(networkError('ECONNRESET'));
      return;
    }
    if (reply.isOdd) {
      const lines = Object.entries(reply.headers ?? {}).map(([name, value]) => `${name}: ${value}\r\n`);
      this.#socket.emit(
        'data',
        Buffer.from(
          `HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 ${reply.status} Odd\r\n${lines.join('')}x: folded\r\n header\r\n`,
        ),
      );
      this.destroy(networkError('HPE_UNEXPECTED_SPACE'));
      return;
    }
    const response = new IncomingMessage(reply.status, reply.headers ?? {});
    this.emit('response', response);
    // The readers of the body are added by whoever received the response.
    setTimeout(() => {
      response.receive(reply.body ?? '');
      this.destroy();
    }, 1);
  }
}

const http = { Agent, request: (url: URL, options: RequestOptions) => new ClientRequest(url, options) };

const lookup = async (hostname: string): Promise<Address[]> => currentContext().internet.resolve(hostname);

/** The replaced modules, by their names without `node:`. */
export const simulatedModules: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ['http', { ...http, default: http }],
  ['https', { ...http, default: http }],
  ['dns', { promises: { lookup } }],
]);
