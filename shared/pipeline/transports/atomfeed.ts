import XMLBuilder from 'fast-xml-builder';
import { v5 as uuidFrom } from 'uuid';
import type { HttpClient } from '../../adapters/outbound-http/http-client.ts';
import { headline } from '../../domain/alert-text.ts';
import { failed } from '../../domain/attempt-outcome.ts';
import type { HttpResponses } from '../../domain/http-outcome.ts';
import type { Alert, AlertMessage, Transport } from '../../domain/transport.ts';
import { type OperatorsEndpoint, sendByHttp } from './http-transport.ts';

/** Namespace of entry IDs (RFC 9562, section 5.5). */
const ENTRY_NAMESPACE = '6f3b2f0e-6f0b-4c7f-9d6e-3c1a5a0c9b1e';

/** Media type of an entry in a POST request (RFC 5023, section 9.2). */
export const ATOM_ENTRY_TYPE = 'application/atom+xml;type=entry;charset=utf-8';

/** Characters that XML 1.0 (section 2.2) excludes, even if escaped. */
const INVALID_CHARACTERS = /[^\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/gu;

const xmlText = (text: string): string => text.toWellFormed().replace(INVALID_CHARACTERS, '');

/** XML parsers normalize white space in attributes to spaces (XML 1.0, section 3.3.3). */
const xmlAttribute = (text: string): string => xmlText(text).replace(/[\t\n\r]/g, ' ');

const builder = new XMLBuilder({ ignoreAttributes: false, attributeNamePrefix: '@', suppressEmptyNode: true });

const term = (text: string) => ({ '@term': xmlAttribute(text) });

/**
 * An Atom entry (RFC 4287). The feed deduplicates by its ID. The payload is text, because content of type
 * `application/json` requires base64 (section 4.1.3.3).
 */
export const atomEntry = (
  { event, payload, deliveryId, eventTimeMs, delayMs, alarmUrl }: AlertMessage & Pick<Alert, 'deliveryId'>,
  category: string,
): string =>
  builder.build({
    '?xml': { '@version': '1.0', '@encoding': 'utf-8' },
    entry: {
      '@xmlns': 'http://www.w3.org/2005/Atom',
      id: `urn:uuid:${uuidFrom(deliveryId, ENTRY_NAMESPACE)}`,
      title: { '@type': 'text', '#text': xmlText(headline(event, delayMs)) },
      updated: new Date(eventTimeMs).toISOString(),
      ...(alarmUrl !== undefined && { link: { '@rel': 'alternate', '@href': alarmUrl } }),
      author: { name: 'Monitoring Notifications' },
      category: [
        term(`monitoring.alerts.${category}`),
        term(`tenant:${event.tenant_id}`),
        term(`entity:${event.entity.id}`),
        term(`state:${event.state}`),
      ],
      content: { '@type': 'text', '#text': xmlText(payload) },
    },
  });

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
