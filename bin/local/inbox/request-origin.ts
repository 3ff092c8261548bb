import type { IncomingMessage } from 'node:http';
import { foreignPageRefusal, loopbackRefusal } from 'local-aws/loopback-refusal.ts';

/**
 * Returns why the inbox refuses a request that a page of another website may have sent, or undefined if it accepts it.
 * Only its own page may change the inbox, not those of other servers on this machine.
 */
export const foreignOrigin = ({ headers, method }: Pick<IncomingMessage, 'headers' | 'method'>): string | undefined =>
  method === 'GET' || method === 'HEAD' ? loopbackRefusal(headers) : foreignPageRefusal(headers);
