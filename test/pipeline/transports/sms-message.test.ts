import fc from 'fast-check';
import { SegmentedMessage } from 'sms-segments-calculator';
import { describe, expect, it } from 'vitest';
import { smsMessage } from '../../../shared/pipeline/transports/sms.ts';
import { alarmHeader } from '../../support/events.ts';
import { runs } from '../../support/quick-run.ts';

const smsOf = (label: string, status?: string): string =>
  smsMessage({
    event: alarmHeader({
      details: { state: 'OK', status },
      entity: { id: 'e', label },
      alarm: { id: 'a', label: 'b' },
    }),
  });

/** Returns the encoding and number of parts of a text without character replacement. */
const encode = (text: string) => {
  const { encodingName, segments, numberOfCharacters } = new SegmentedMessage(text);
  return { encodingName, parts: segments.length, numberOfCharacters };
};

describe('an SMS about an alert', () => {
  it('contains the headline and, if there is one, the status message', () => {
    expect(smsMessage({ event: alarmHeader() })).toBe('[CRITICAL] web-1: Disk space: Disk is full');
    expect(smsOf('web-1')).toBe('[OK] web-1: b');
  });

  it('fits 160 GSM-7 characters, counting [ and ] twice', () => {
    const text = smsOf('x'.repeat(40), 'y'.repeat(300));
    expect(text).toHaveLength(158);
    expect(encode(text)).toEqual({ encodingName: 'GSM-7', parts: 1, numberOfCharacters: 160 });
  });

  it('fits 70 characters if most of them are outside GSM-7', () => {
    const text = smsOf('数'.repeat(150));
    expect(text).toHaveLength(70);
    expect(encode(text)).toMatchObject({ encodingName: 'UCS-2', parts: 1 });
  });

  it('has ? instead of a character outside GSM-7, if the text is then longer', () => {
    const text = smsOf('Größe 数', 'y'.repeat(300));
    expect(text).toContain('Größe ?: b: yyy');
    expect(encode(text)).toMatchObject({ encodingName: 'GSM-7', parts: 1 });
  });

  it.each([
    ['“web”‘1’–2—3…', `"web"'1'-2-3...`],
    ['≥ ≤ ± → − ×', '>= <= +/- -> - x'],
    ['21 °C, 5 µs, m²', '21 degC, 5 us, m2'],
    ['up\u2011time ð', 'up-time d'],
    ['ç á ê u\u0308 Łódź œ', 'c a e ü Lodz oe'],
    ['đĐ ðÐ þÞ ħĦ ŧŦ', 'dD dD thTH hH tT'],
  ])('replaces characters of a long text as readers expect: %s', (label, replaced) => {
    const text = smsOf(label, 'y'.repeat(300));
    expect(text).toContain(`${replaced}: b: yyy`);
    expect(encode(text)).toMatchObject({ encodingName: 'GSM-7', parts: 1 });
    expect(text.length).toBeGreaterThan(130);
  });

  it('counts a ? of the original as itself', () => {
    expect(encode(smsOf(`${'?'.repeat(100)}ж`, 'y'.repeat(300))).encodingName).toBe('GSM-7');
  });

  it('keeps the characters of a text that fits as it is', () => {
    expect(smsOf('“21 °C”')).toBe('[OK] “21 °C”: b');
  });

  it('keeps non-ASCII characters of GSM-7', () => {
    const text = smsOf('äöüßéñ€Ω');
    expect(text).toContain('äöüßéñ€Ω');
    expect(encode(text).encodingName).toBe('GSM-7');
  });

  it('loses no text to invisible characters at its start', () => {
    expect(smsOf(`${'\u200b'.repeat(500)}web-1`, 'Disk is full')).toBe('[OK] web-1: b: Disk is full');
  });

  it('has one part of visible characters and is well-formed, for any text', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 300 }),
      fc.string({ unit: 'grapheme', maxLength: 300 }),
      fc.string({
        unit: fc.constantFrom('a', '^', '{', '€', '“', '…', '½', '😀', '👨‍👩‍👧', 'é', '\u0301', '\u202e', '\u00ad'),
        maxLength: 300,
      }),
    );
    fc.assert(
      fc.property(text, text, (label, status) => {
        const message = smsOf(label, status);
        expect(encode(message).parts).toBe(1);
        expect(message.isWellFormed()).toBe(true);
        expect(message).not.toMatch(/[\p{Cc}\p{Cf}\s](?<! )/u);
      }),
      { numRuns: runs(500) },
    );
  });
});
