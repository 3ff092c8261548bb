import { describe, expect, it } from 'vitest';
import { emailMessage } from '../../../shared/pipeline/transports/email-message.ts';
import { alarmHeader, EVENT_TIME_MS } from '../../support/events.ts';
import { wordsOf } from '../../support/words-of-html.ts';

const markup = `<script>alert("1")</script><img src=x onerror='a'>&amp;`;
const escaped = '&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&lt;img src=x onerror=&#39;a&#39;&gt;&amp;amp;';

describe('an email about an alert', () => {
  it('has a subject with state, entity and alarm', () => {
    expect(emailMessage({ event: alarmHeader() }).subject).toBe('[CRITICAL] web-1: Disk space');
  });

  it('says what, where and since when first, and the ID of the event last', () => {
    const { text, html } = emailMessage({ event: alarmHeader() });
    const { event_id } = alarmHeader();
    expect(wordsOf(html)).toBe(
      `CRITICAL web-1: Disk space Disk is full State CRITICAL (was OK) Since 2023-11-14 22:13:20 UTC Check Disk usage Target web-1.example.com duration 153 milliseconds Event ${event_id}`,
    );
    expect(text).toBe(
      [
        '[CRITICAL] web-1: Disk space\n',
        'State: CRITICAL (was OK)',
        'Status: Disk is full',
        'Entity: web-1',
        'Alarm: Disk space',
        'Since: 2023-11-14 22:13:20 UTC',
        'Check: Disk usage',
        'Target: web-1.example.com',
        'duration: 153 milliseconds',
        `Event: ${event_id}\n`,
      ].join('\n'),
    );
  });

  it('has its times in the time zone of the account, and no time that the status text mentions', () => {
    const status = 'Full at 2023-11-14 22:13:20 UTC';
    const event = alarmHeader({ details: { state: 'CRITICAL', status, timestamp: EVENT_TIME_MS } });
    const { text, html } = emailMessage({ event }, 'Europe/Berlin');
    expect(text).toContain('Since: 2023-11-14 23:13:20 UTC+01:00');
    expect(wordsOf(html)).toContain('Since 2023-11-14 23:13:20 UTC+01:00');
    expect(text).toContain(`Status: ${status}`);
  });

  it('has a metric on one line, and bytes in units, too', () => {
    const metrics = { free: { data: 1_181_116_006, unit: 'bytes' }, small: { data: 1_023, unit: 'bytes' } };
    const { text, html } = emailMessage({ event: alarmHeader({ details: { state: 'CRITICAL', metrics } }) });
    expect(text).toContain('\nfree: 1181116006 bytes (1.1 GB)\nsmall: 1023 bytes\n');
    expect(html).toMatch(/<p [^>]*><span [^>]*>free<\/span> 1181116006 bytes \(1\.1 GB\)<\/p>/);
  });

  it('has the line breaks of a status', () => {
    const event = alarmHeader({ details: { state: 'CRITICAL', status: 'Disk is full:\n<b>/var</b>' } });
    const { text, html } = emailMessage({ event });
    expect(html).toContain('>Disk is full:<br>&lt;b&gt;/var&lt;/b&gt;</p>');
    expect(text).toContain('Status: Disk is full:\n<b>/var</b>\n');
  });

  it('has the name of an entity in full if the heading truncates it', () => {
    const label = 'x'.repeat(255);
    expect(emailMessage({ event: alarmHeader({ entity: { id: 'e', label } }) }).html).toContain(label);
  });

  it.each([
    ['label of the entity', { entity: { id: 'e', label: markup } }],
    ['label of the alarm', { alarm: { id: 'a', label: markup } }],
    ['label of the check', { check: { label: markup } }],
    ['status', { details: { state: 'OK' as const, status: markup } }],
    ['target', { details: { state: 'OK' as const, target: markup } }],
    ['name of a metric', { details: { state: 'OK' as const, metrics: { [markup]: { data: 1 } } } }],
    ['value of a metric', { details: { state: 'OK' as const, metrics: { m: { data: markup, unit: markup } } } }],
    ['previous state', { previous_state: markup }],
    ['id of the event', { event_id: markup }],
  ])('escapes HTML in the %s', (_, changes) => {
    const { html } = emailMessage({ event: alarmHeader(changes) });
    expect(html).toContain(escaped);
    expect(html).not.toMatch(/<script|<img|onerror='|alert\("/);
  });

  it('has a subject without format characters, such as directional overrides and zero-width spaces', () => {
    const label = '\u202egpj.exe\u2066\u200b web\u00ad-1\ufeff';
    const { subject } = emailMessage({
      event: alarmHeader({ entity: { id: 'e', label }, alarm: { id: 'alB', label: '\u200b' } }),
    });
    expect(subject).toBe('[CRITICAL] gpj.exe web-1: alB');
  });

  it('keeps format characters in the body, because emoji and some languages need them', () => {
    const { subject, text, html } = emailMessage({ event: alarmHeader({ entity: { id: 'e', label: '👨‍👩‍👧' } }) });
    for (const part of [text, html]) expect(part).toContain('👨‍👩‍👧');
    expect(subject).toBe('[CRITICAL] 👨👩👧: Disk space');
  });

  it('stays below 100,000 characters for the largest event', () => {
    const long = '&'.repeat(800_000);
    const { text, html } = emailMessage({
      event: alarmHeader({
        details: { state: 'OK', status: long, metrics: { m: { data: long } } },
        entity: { id: long },
      }),
    });
    expect(text.length + html.length).toBeLessThan(100_000);
  });
});
