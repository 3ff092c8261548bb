import { SegmentedMessage } from 'sms-segments-calculator';
import type { EventHeader } from '../../contracts/event-header.ts';
import { plainLine, subjectLine } from '../../domain/alert-text.ts';

/** One SMS part: 140 octets, which fit 160 GSM-7 or 70 UCS-2 characters (3GPP TS 23.040). */
const PART_BITS = 140 * 8;
/** Characters beyond this limit are removed first, so that they do not affect the choice of encoding. */
const MAX_CHARACTERS = 160;

/** What readers expect instead of characters that neither GSM-7 nor the Unicode decomposition has. */
const REPLACEMENTS: Readonly<Record<string, string>> = {
  '≥': '>=',
  '≤': '<=',
  '≠': '!=',
  '≈': '~',
  µ: 'u',
  μ: 'u',
  '×': 'x',
  '÷': '/',
  '→': '->',
  '←': '<-',
  '⇒': '=>',
  '°': 'deg',
  '−': '-',
  '\u2010': '-',
  '\u2011': '-',
  '±': '+/-',
  œ: 'oe',
  Œ: 'OE',
  ł: 'l',
  Ł: 'L',
  đ: 'd',
  ı: 'i',
  ð: 'd',
  þ: 'th',
};

const isGsm = (text: string): boolean => new SegmentedMessage(text).encodingName === 'GSM-7';

/** Returns a character as GSM-7 has it: itself, what readers expect instead, without its marks, or `?`. */
const gsmText = (character: string): string => {
  const smart = new SegmentedMessage(character, 'auto', true).encodedChars.map(({ raw }) => raw).join('');
  const unmarked = character.normalize('NFKD').replace(/\p{M}/gu, '');
  return [character, smart, REPLACEMENTS[character] ?? character, unmarked].find(isGsm) ?? '?';
};

const sizeInBits = (text: string, encoding: 'GSM-7' | 'UCS-2'): number =>
  new SegmentedMessage(text, encoding).encodedChars.reduce((sum, character) => sum + character.sizeInBits(), 0);

/** A text that fits into one part, and how many characters of the original it has, in code points. */
type Part = { text: string; kept: number; isWhole: boolean };

/** Fills one part with characters, each as `sentAs` returns it. */
const fill = (
  characters: readonly string[],
  encoding: 'GSM-7' | 'UCS-2',
  sentAs: (character: string) => string,
): Part => {
  let remainingBits = PART_BITS;
  let [text, kept] = ['', 0];
  for (const character of characters) {
    const sent = sentAs(character);
    remainingBits -= sizeInBits(sent, encoding);
    if (remainingBits < 0) return { text, kept, isWhole: false };
    text += sent;
    if (sent !== '?' || character === '?') kept += [...character].length;
  }
  return { text, kept, isWhole: true };
};

/**
 * Truncates a text to one part. A single character outside GSM-7 would switch it to UCS-2, with less than half the
 * capacity: such characters are replaced if the part then has more characters of the original.
 */
const toPart = (fullText: string): Part => {
  const composed = fullText.normalize('NFC');
  const start = [...composed].slice(0, MAX_CHARACTERS).join('');
  const { encodedChars, encodingName } = new SegmentedMessage(start);
  const characters = encodedChars.map(({ raw }) => raw);
  const replaced = fill(characters, 'GSM-7', encodingName === 'GSM-7' ? (character) => character : gsmText);
  const unchanged = encodingName === 'GSM-7' ? undefined : fill(characters, 'UCS-2', (character) => character);
  const part = unchanged && unchanged.kept >= replaced.kept ? unchanged : replaced;
  return { ...part, isWhole: part.isWhole && start === composed };
};

/** Truncates a text to one part (`toPart`). */
export const smsPart = (text: string): string => toPart(text).text;

/** Returns whether a text fits into one part. */
export const fitsSms = (text: string): boolean => toPart(text).isWhole;

/** Returns the text of an SMS about an event, in one part (`smsPart`). */
export const smsMessage = (event: EventHeader): string => {
  const status = plainLine(event.status ?? '');
  return smsPart(status === '' ? subjectLine(event) : `${subjectLine(event)}: ${status}`);
};
