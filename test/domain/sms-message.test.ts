import fc from 'fast-check';
import { SegmentedMessage } from 'sms-segments-calculator';
import { describe, expect, it } from 'vitest';
import { smsMessage } from '../../shared/domain/sms-message.ts';
import { alarmEvent } from '../support/events.ts';

const smsOf = (label: string, status?: string): string =>
  smsMessage(
    alarmEvent({ details: { state: 'OK', status }, entity: { id: 'e', label }, alarm: { id: 'a', label: 'b' } }),
  );

/** What the phone network makes of a text, without any help. */
const network = (text: string) => {
  const { encodingName, segments, numberOfCharacters } = new SegmentedMessage(text);
  return { encodingName, parts: segments.length, numberOfCharacters };
};

describe('a text message about an alert', () => {
  it('is the headline, and the status where there is one', () => {
    expect(smsMessage(alarmEvent())).toBe('[CRITICAL] web-1: Disk space: Disk is full');
    expect(smsOf('web-1')).toBe('[OK] web-1: b');
  });

  it('has 160 characters where all are in GSM-7, of which [ and ] take two', () => {
    const text = smsOf('x'.repeat(40), 'y'.repeat(300));
    expect(text).toHaveLength(158);
    expect(network(text)).toEqual({ encodingName: 'GSM-7', parts: 1, numberOfCharacters: 160 });
  });

  it('has 70 characters where one is outside GSM-7', () => {
    const text = smsOf('Größe 数', 'y'.repeat(300));
    expect(text).toHaveLength(70);
    expect(network(text)).toMatchObject({ encodingName: 'UCS-2', parts: 1 });
  });

  it('writes curly quotes, dashes and dots in GSM-7, so that they do not halve the room', () => {
    const text = smsOf('“web”‘1’–2—3…', 'y'.repeat(300));
    expect(text).toContain(`"web"'1'-2-3...`);
    expect(network(text).encodingName).toBe('GSM-7');
    expect(text.length).toBeGreaterThan(150);
  });

  it('keeps letters that GSM-7 has', () => {
    const text = smsOf('äöüßéñ€Ω');
    expect(text).toContain('äöüßéñ€Ω');
    expect(network(text).encodingName).toBe('GSM-7');
  });

  it('is cut at a character, never inside an emoji', () => {
    for (const filler of ['', 'x', 'xx', 'xxx']) {
      const text = smsOf(`${filler}${'😀'.repeat(60)}`);
      expect(text.isWellFormed()).toBe(true);
      expect(text).toMatch(/😀$/u);
      expect(network(text).parts).toBe(1);
    }
  });

  it('is one line', () => {
    expect(smsOf('a\r\nb', 'c\nd')).toBe('[OK] a b: b: c d');
  });

  it('never takes more than one part, and never holds half a character', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 300 }),
      fc.string({ unit: 'grapheme', maxLength: 300 }),
      fc.string({
        unit: fc.constantFrom('a', '^', '{', '€', '“', '…', '½', '😀', '👨‍👩‍👧', 'é', '\u0301'),
        maxLength: 300,
      }),
    );
    fc.assert(
      fc.property(text, text, (label, status) => {
        const message = smsOf(label, status);
        expect(network(message).parts).toBe(1);
        expect(message.isWellFormed()).toBe(true);
      }),
      { numRuns: 500 },
    );
  });
});
