import { describe, expect, it } from 'vitest';
import { emailMessage } from '../../shared/domain/email-message.ts';
import { alarmEvent } from '../support/events.ts';

const hostile = `<script>alert("1")</script><img src=x onerror='a'>&amp;`;
const escaped = '&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&lt;img src=x onerror=&#39;a&#39;&gt;&amp;amp;';

describe('an e-mail about an alert', () => {
  it('has a subject that names state, entity and alarm', () => {
    expect(emailMessage(alarmEvent()).subject).toBe('[CRITICAL] web-1: Disk space');
  });

  it('says the same in plain text and in HTML', () => {
    const { subject, text, html } = emailMessage(alarmEvent());
    for (const fact of [subject, 'CRITICAL (was OK)', 'Disk is full', '153 milliseconds', '2023-11-14T22:13:20.000Z']) {
      expect(text).toContain(fact);
      expect(html).toContain(fact);
    }
    expect(text).toMatch(/^\[CRITICAL\] web-1: Disk space\n\nState: CRITICAL/);
  });

  it.each([
    ['label of the entity', { entity: { id: 'e', label: hostile } }],
    ['label of the alarm', { alarm: { id: 'a', label: hostile } }],
    ['label of the check', { check: { label: hostile } }],
    ['status', { details: { state: 'OK' as const, status: hostile } }],
    ['target', { details: { state: 'OK' as const, target: hostile } }],
    ['name of a metric', { details: { state: 'OK' as const, metrics: { [hostile]: { data: 1 } } } }],
    ['value of a metric', { details: { state: 'OK' as const, metrics: { m: { data: hostile, unit: hostile } } } }],
    ['previous state', { previous_state: hostile }],
    ['id of the event', { event_id: hostile }],
  ])('runs nothing that stands in the %s', (_, changes) => {
    const { html } = emailMessage(alarmEvent(changes));
    expect(html).toContain(escaped);
    expect(html).not.toMatch(/<script|<img|onerror='|alert\("/);
  });

  it('has one line as its subject, so that no label can add a header', () => {
    const label = 'x\r\nBcc: root@example.com\r\n\r\nbody';
    const { subject } = emailMessage(alarmEvent({ entity: { id: 'e', label }, alarm: { id: 'a', label } }));
    expect(subject).toBe('[CRITICAL] x Bcc: root@example.com body: x Bcc: root@example.com body');
  });

  it('names ids where there are no labels', () => {
    const { subject, text } = emailMessage(alarmEvent({ entity: { id: 'enA' }, alarm: { id: 'alB' }, check: null }));
    expect(subject).toBe('[CRITICAL] enA: alB');
    expect(text).not.toContain('undefined');
  });

  it('keeps letters of all languages and signs of all planes', () => {
    const { subject, text, html } = emailMessage(alarmEvent({ entity: { id: 'e', label: 'Größe 数据 😀' } }));
    for (const part of [subject, text, html]) expect(part).toContain('Größe 数据 😀');
  });

  it('stays far below what SES takes, however large the event is', () => {
    const long = '&'.repeat(800_000);
    const { text, html } = emailMessage(
      alarmEvent({ details: { state: 'OK', status: long, metrics: { m: { data: long } } }, entity: { id: long } }),
    );
    expect(text.length + html.length).toBeLessThan(100_000);
  });
});
