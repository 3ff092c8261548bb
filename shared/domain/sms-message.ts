import { SegmentedMessage } from 'sms-segments-calculator';
import type { AlarmEvent } from '../contracts/alarm-event.ts';
import { headline, statusText } from './alert-text.ts';

/** One part of a text: 140 octets, which hold 160 GSM-7 or 70 UCS-2 characters (3GPP TS 23.040). */
const PART_BITS = 140 * 8;
/** No part holds more characters than this; what lies behind cannot make the rest dearer. */
const MAX_CHARACTERS = 160;

/**
 * The text of an event for a phone, in one part: common characters outside GSM-7, such as curly quotes, are first written
 * in it, since a single one would halve the room; what is too long is cut at a character.
 */
export const smsMessage = (event: AlarmEvent): string => {
  const status = statusText(event);
  const whole = status === undefined ? headline(event) : `${headline(event)}: ${status}`;
  const start = [...whole].slice(0, MAX_CHARACTERS).join('');
  const { encodedChars } = new SegmentedMessage(start, 'auto', true);
  let room = PART_BITS;
  let text = '';
  for (const character of encodedChars) {
    room -= character.sizeInBits();
    if (room < 0) break;
    text += character.raw;
  }
  return text;
};
