import type { IncomingMessage } from 'node:http';
import { loopbackRefusal } from 'local-aws/loopback-refusal.ts';

/**
 * Returns why the inbox refuses a request that a page of another website may have sent, or undefined if it accepts it.
 * Only its own page may change the inbox, not those of other servers on this machine.
 */
export const foreignOrigin = ({ headers, method }: Pick<IncomingMessage, 'headers' | 'method'>): string | undefined => {
  const refusal = loopbackRefusal(headers);
  if (refusal !== undefined || method === 'GET' || method === 'HEAD') return refusal;
  const { host, origin, 'sec-fetch-site': site } = headers;
  const isForeign = origin === undefined ? site === 'cross-site' || site === 'same-site' : origin !== `http://${host}`;
  return isForeign ? 'Pages of other origins cannot change the inbox.' : undefined;
};
