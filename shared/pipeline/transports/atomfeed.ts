import type { HttpClient } from '../../adapters/outbound-http/http-client.ts';
import { failed } from '../../domain/attempt-outcome.ts';
import type { HttpResponses } from '../../domain/http-outcome.ts';
import type { Transport } from '../../domain/transport.ts';
import { ATOM_ENTRY_TYPE, atomEntry } from './atom-entry.ts';
import { type OperatorsEndpoint, sendByHttp } from './http-transport.ts';

export const feedResponses: HttpResponses = {
  success: 'Success: Atom feed took the entry',
  expected: '2xx of the Atom feed',
  rules: [
    { status: /^2..$/, result: 'delivered' },
    // The feed has an entry with the ID of this delivery.
    { status: /^409$/, ifMayHaveArrived: true, result: 'delivered' },
    { status: /^429$/, result: 'throttled' },
    { status: /^4..$/, result: 'permanent' },
  ],
};

/** The operators also set its credentials, in its URL. */
const operatorsEndpoint: OperatorsEndpoint = { name: 'the feed', faults: /^(5..|401|403)$/ };

/** Posts an entry to the operators' Atom collection (RFC 5023), if they have one. */
export const createFeedTransport =
  (http: HttpClient, endpoint: string | undefined): Transport =>
  async (alert, { category = '' }) => {
    if (endpoint === undefined) {
      return failed('permanent', 'no_feed_configured', 'This service has no Atom feed', { cause: 'service' });
    }
    const headers = { 'content-type': ATOM_ENTRY_TYPE, 'user-agent': 'monitoring-notifications/1' };
    const request = { url: new URL(endpoint), headers, body: atomEntry(alert, category), secrets: [] };
    return sendByHttp(feedResponses, http, alert, request, operatorsEndpoint);
  };
