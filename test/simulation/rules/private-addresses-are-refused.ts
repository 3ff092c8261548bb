import { PRIVATE_HOST } from '../world/receivers.ts';
import type { Rule } from './rule.ts';

/** No request goes to a host that resolves to a private address, whatever else it resolves to. */
export const privateAddressesAreRefused: Rule = {
  name: 'private addresses are refused',
  violations: ({ requests, scenario: { recoveryMs } }) =>
    requests
      .filter(({ url, atMs }) => new URL(url).hostname === PRIVATE_HOST && atMs < recoveryMs)
      .map(({ url, atMs }) => `A request went to ${url} after ${atMs} ms.`),
};
