import type { IncomingMessage } from 'node:http';

/** Names that always mean this machine, as the Host header contains them without the port. */
const LOOPBACK_NAME = /^(localhost|.+\.localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/**
 * Returns why the inbox refuses a request that a page of another website may have sent, or undefined if it accepts it.
 * Listening on loopback is no protection: any page in a browser on this machine can send requests to 127.0.0.1, and
 * can also read the responses if its own name resolves to 127.0.0.1 (DNS rebinding). The Host header then has that
 * name.
 */
export const foreignOrigin = ({ headers, method }: Pick<IncomingMessage, 'headers' | 'method'>): string | undefined => {
  const { host = '', origin, 'sec-fetch-site': site } = headers;
  if (!LOOPBACK_NAME.test(host.replace(/:\d+$/, '').toLowerCase())) {
    return 'The Host header must be a loopback name, such as 127.0.0.1 or localhost.';
  }
  if (method === 'GET' || method === 'HEAD') return undefined;
  const isForeign = origin === undefined ? site === 'cross-site' || site === 'same-site' : origin !== `http://${host}`;
  return isForeign ? 'Pages of other origins cannot change the inbox.' : undefined;
};
