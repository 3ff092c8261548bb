import { DOMParser, type Element } from '@xmldom/xmldom';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { webhookPayload } from '../../../shared/contracts/alarm-event.ts';
import { atomEntry } from '../../../shared/pipeline/transports/atomfeed.ts';
import { alarmEvent, alertContent, EVENT_TIME_MS, EXACT_NUMBERS, exactContent } from '../../support/events.ts';
import { runs } from '../../support/quick-run.ts';

const ATOM = 'http://www.w3.org/2005/Atom';

/** Parses an entry. @throws Error if it is not well-formed */
const read = ({ event, payload } = alertContent(alarmEvent()), category = 'databases', deliveryId = 'd1') => {
  const parser = new DOMParser({
    onError: (level, message) => {
      if (level !== 'warning') throw new Error(message);
    },
  });
  const entry = parser.parseFromString(
    atomEntry({ event, payload, deliveryId, eventTimeMs: EVENT_TIME_MS }, category),
    'text/xml',
  ).documentElement;
  const elements = (name: string): Element[] => [...(entry?.getElementsByTagNameNS(ATOM, name) ?? [])];
  return {
    root: entry?.localName,
    elements,
    text: (name: string) => elements(name).map(({ textContent }) => textContent),
    terms: elements('category').map((element) => element.getAttribute('term')),
  };
};

describe('an Atom entry', () => {
  it('has exactly one ID, title, updated and content, and an author with a name (RFC 4287)', () => {
    const { root, elements, text } = read();
    expect(root).toBe('entry');
    for (const name of ['id', 'title', 'updated', 'content', 'author']) expect(elements(name)).toHaveLength(1);
    expect(text('title')).toEqual(['[CRITICAL] web-1: Disk space']);
    expect(text('name')).toEqual([expect.stringMatching(/\w/)]);
  });

  it('has the category with the prefix monitoring.alerts, and terms for tenant, entity and state', () => {
    expect(read().terms).toEqual(['monitoring.alerts.databases', 'tenant:acme', 'entity:enAAAA', 'state:CRITICAL']);
  });

  it('has the same ID in all attempts, and a different ID for another delivery', () => {
    const [first, retry, other] = ['d1', 'd1', 'd2'].map((id) => read(undefined, 'c', id).text('id')[0]);
    expect(first).toMatch(/^urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    expect(retry).toBe(first);
    expect(other).not.toBe(first);
  });

  it('has the time of the event as its update time, in RFC 3339 format', () => {
    expect(read().text('updated')).toEqual([new Date(EVENT_TIME_MS).toISOString()]);
  });

  it('contains the webhook payload as text', () => {
    expect(JSON.parse(read().text('content')[0] ?? '')).toEqual(webhookPayload(alarmEvent()));
  });

  it('preserves the digits of the numbers in the payload', () => {
    const [content] = read(exactContent).text('content');
    expect(content).toBe(exactContent.payload);
    expect(content).toContain(EXACT_NUMBERS);
  });

  it('is well-formed for any text in the event and the category', () => {
    const markup = [
      ']]>',
      '<!--',
      '&amp;',
      '"\'<>',
      '\u0000',
      '\ud800',
      '\ufffe',
      '\t\r\n',
      '</entry>',
      '<![CDATA[x]]>',
    ];
    const hostile = fc
      .oneof(fc.string({ unit: 'binary', minLength: 1, maxLength: 50 }), fc.constantFrom(...markup))
      // The parser of this test treats these as line ends, as in XML 1.1 but not 1.0.
      .map((text) => text.replace(/[\u0085\u2028\u2029]/g, '-'));
    fc.assert(
      fc.property(hostile, hostile, hostile, (category, label, id) => {
        const event = alarmEvent({ entity: { id, label }, alarm: { id: 'al', label } });
        const { terms, text } = read(alertContent(event), category);
        expect(terms).toHaveLength(4);
        expect(terms[0]).toMatch(/^monitoring\.alerts\./);
        const content: unknown = JSON.parse(text('content')[0] ?? '');
        expect(content).toMatchObject({ tenant_id: 'acme', alarm: { id: 'al' } });
      }),
      { numRuns: runs(300) },
    );
  });

  it('preserves quotes, markup and non-ASCII characters', () => {
    const label = `<b>"Größe" & '数据' 😀</b>`;
    const content = alertContent(alarmEvent({ entity: { id: 'e', label } }));
    expect(read(content, label).terms[0]).toBe(`monitoring.alerts.${label}`);
    expect(read(content).text('title')).toEqual([`[CRITICAL] ${label}: Disk space`]);
  });
});
