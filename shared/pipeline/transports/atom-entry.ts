import XMLBuilder from 'fast-xml-builder';
import { v5 as uuidFrom } from 'uuid';
import { headline } from '../../domain/alert-text.ts';
import type { Alert, AlertMessage } from '../../domain/transport.ts';

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
 * Returns an Atom entry (RFC 4287). Its ID is the same in all attempts, so the feed can deduplicate. The payload is
 * text, because content of type `application/json` requires base64 (section 4.1.3.3).
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
