import type { HttpClient } from '../../adapters/outbound-http/http-client.ts';
import { ATOM_ENTRY_TYPE, atomEntry } from '../../domain/atom-entry.ts';
import { failed } from '../../domain/attempt-outcome.ts';
import { type Deliver, sendDeadline } from '../../domain/transport.ts';
import { deliverByHttp } from './http-transport.ts';

/**
 * Delivers to an `atomfeed` notification: posts an entry to the operators' collection (RFC 5023).
 *
 * @param endpoint the collection; undefined where the operators have none
 */
export const feedDelivery =
  (http: HttpClient, endpoint: string | undefined): Deliver =>
  async ({ event, eventTimeMs, deliveryId, timeLeft }, { category = '' }) => {
    if (endpoint === undefined) {
      return failed('permanent', 'no feed configured', 'This service has no Atom feed', { cause: 'service' });
    }
    const headers = { 'content-type': ATOM_ENTRY_TYPE, 'user-agent': 'monitoring-notifications/1' };
    const body = atomEntry(event, category, deliveryId, eventTimeMs);
    const request = { url: new URL(endpoint), headers, body, deadline: sendDeadline(timeLeft) };
    return deliverByHttp('atomfeed', http, request, 'the feed');
  };
