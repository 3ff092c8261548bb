import { SegmentedMessage } from 'sms-segments-calculator';
import type { EventHeader } from '../../contracts/event-header.ts';
import { plainLine, subjectLine } from '../../domain/alert-text.ts';

/** One SMS part: 140 octets, which fit 160 GSM-7 or 70 UCS-2 characters (3GPP TS 23.040). */
const PART_BITS = 140 * 8;
/** Characters beyond this limit are removed first, so that they do not affect the choice of encoding. */
const MAX_CHARACTERS = 160;

/** Truncates a text to one part. */
const toPart = (fullText: string): { text: string; isWhole: boolean } => {
  const start = [...fullText].slice(0, MAX_CHARACTERS).join('');
  const { encodedChars } = new SegmentedMessage(start, 'auto', true);
  let remainingBits = PART_BITS;
  let text = '';
  for (const character of encodedChars) {
    remainingBits -= character.sizeInBits();
    if (remainingBits < 0) return { text, isWhole: false };
    text += character.raw;
  }
  return { text, isWhole: start === fullText };
};

/**
 * Truncates a text to one part. Common characters outside GSM-7, such as curly
 * quotes, are replaced, because a single one would switch the message to UCS-2, with less than half the capacity.
 */
export const smsPart = (text: string): string => toPart(text).text;

/** Returns whether a text fits into one part. */
export const fitsSms = (text: string): boolean => toPart(text).isWhole;

/** Returns the text of an SMS about an event, in one part (`smsPart`). */
export const smsMessage = (event: EventHeader): string => {
  const status = plainLine(event.status ?? '');
  return smsPart(status === '' ? subjectLine(event) : `${subjectLine(event)}: ${status}`);
};
