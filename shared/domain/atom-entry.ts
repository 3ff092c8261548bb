import XMLBuilder from 'fast-xml-builder';
import { v5 as uuidFrom } from 'uuid';
import { type AlarmEvent, webhookPayload } from '../contracts/alarm-event.ts';
import { headline } from './alert-text.ts';

/** Our own namespace for ids of entries (RFC 9562, section 5.5). */
const ENTRY_NAMESPACE = '6f3b2f0e-6f0b-4c7f-9d6e-3c1a5a0c9b1e';

/** The media type of an entry that is posted (RFC 5023, section 9.2). */
export const ATOM_ENTRY_TYPE = 'application/atom+xml;type=entry;charset=utf-8';

/** What XML 1.0 (section 2.2) does not allow, not even escaped. */
const forbidden = /[^\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/gu;

const allowed = (text: string): string => text.toWellFormed().replace(forbidden, '');

/** A parser reads any white space in an attribute as a space (XML 1.0, section 3.3.3): so it is written as one. */
const attribute = (text: string): string => allowed(text).replace(/[\t\n\r]/g, ' ');

const builder = new XMLBuilder({ ignoreAttributes: false, attributeNamePrefix: '@', suppressEmptyNode: true });

const term = (text: string) => ({ '@term': attribute(text) });

/**
 * An Atom entry (RFC 4287) about an alarm event. Its id is the same over retries, so that a feed can know what it has. The
 * payload is text: content of type `application/json` would have to be base64 (section 4.1.3.3).
 *
 * @param deliveryId names the event and the notification
 * @param eventTimeMs when the alarm's state changed, ms since the epoch
 */
export const atomEntry = (event: AlarmEvent, category: string, deliveryId: string, eventTimeMs: number): string =>
  builder.build({
    '?xml': { '@version': '1.0', '@encoding': 'utf-8' },
    entry: {
      '@xmlns': 'http://www.w3.org/2005/Atom',
      id: `urn:uuid:${uuidFrom(deliveryId, ENTRY_NAMESPACE)}`,
      title: { '@type': 'text', '#text': allowed(headline(event)) },
      updated: new Date(eventTimeMs).toISOString(),
      author: { name: 'Monitoring Notifications' },
      category: [
        term(`monitoring.alerts.${category}`),
        term(`tenant:${event.tenant_id}`),
        term(`entity:${event.entity.id}`),
        term(`state:${event.details.state}`),
      ],
      content: { '@type': 'text', '#text': allowed(JSON.stringify(webhookPayload(event))) },
    },
  });
