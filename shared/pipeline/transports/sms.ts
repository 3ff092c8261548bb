import { SegmentedMessage } from 'sms-segments-calculator';
import { createSnsClient } from '../../adapters/sns.ts';
import { plainLine, subjectLine } from '../../domain/alert-text.ts';
import { type AttemptOutcome, failed } from '../../domain/attempt-outcome.ts';
import { type Summary, summaryHeading } from '../../domain/summary.ts';
import type { Alert, Transport } from '../../domain/transport.ts';
import type { ParsedEnvironment } from '../../environment.ts';
import { limitOfAlert, type MessageLimits } from '../daily-limit.ts';
import type { SharedRate } from '../shared-rate.ts';
import { logAccepted, sendWithAws } from './aws-call.ts';

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
  Đ: 'D',
  ı: 'i',
  ð: 'd',
  Ð: 'D',
  þ: 'th',
  Þ: 'TH',
  ħ: 'h',
  Ħ: 'H',
  ŧ: 't',
  Ŧ: 'T',
};

type SentCharacter = { original: string; sent: string; bits: number };

/** Returns how a character is sent in GSM-7: as itself, as readers expect, without its marks, or as `?`. */
const inGsm = (original: string): SentCharacter => {
  const smart = new SegmentedMessage(original, 'auto', true).encodedChars.map(({ raw }) => raw).join('');
  const unmarked = original.normalize('NFKD').replace(/\p{M}/gu, '');
  const { encodedChars } =
    [original, smart, REPLACEMENTS[original] ?? original, unmarked]
      .map((text) => new SegmentedMessage(text))
      .find(({ encodingName }) => encodingName === 'GSM-7') ?? new SegmentedMessage('?');
  return {
    original,
    sent: encodedChars.map(({ raw }) => raw).join(''),
    bits: encodedChars.reduce((sum, character) => sum + character.sizeInBits(), 0),
  };
};

/** A text that fits into one part, and how many characters of the original it has, in code points. */
type Part = { text: string; kept: number; isWhole: boolean };

const fill = (characters: readonly SentCharacter[]): Part => {
  let remainingBits = PART_BITS;
  let [text, kept] = ['', 0];
  for (const { original, sent, bits } of characters) {
    remainingBits -= bits;
    if (remainingBits < 0) return { text, kept, isWhole: false };
    text += sent;
    if (sent !== '?' || original === '?') kept += [...original].length;
  }
  return { text, kept, isWhole: true };
};

/**
 * One character outside GSM-7 would switch the text to UCS-2, with less than half the capacity: such characters are
 * replaced if the part then has more characters of the original.
 */
const toPart = (fullText: string): Part => {
  const composed = fullText.normalize('NFC');
  const start = [...composed].slice(0, MAX_CHARACTERS).join('');
  const { encodedChars, encodingName } = new SegmentedMessage(start);
  const unchanged = fill(
    encodedChars.map((character) => ({ original: character.raw, sent: character.raw, bits: character.sizeInBits() })),
  );
  const replaced = encodingName === 'GSM-7' ? unchanged : fill(encodedChars.map(({ raw }) => inGsm(raw)));
  const part = unchanged.kept >= replaced.kept ? unchanged : replaced;
  return { ...part, isWhole: part.isWhole && start === composed };
};

const smsPart = (text: string): string => toPart(text).text;

const fitsSms = (text: string): boolean => toPart(text).isWhole;

export const smsMessage = ({ event, delayMs }: Pick<Alert, 'event' | 'delayMs'>): string => {
  const status = plainLine(event.status ?? '');
  return smsPart(`${subjectLine(event, delayMs)}${status === '' ? '' : `: ${status}`}`);
};

/** After this many names that do not fit, an SMS is as good as full: measuring thousands would take seconds. */
const MAX_MISSES = 10;

/** Alarms per state, then the names that fit into one part, or else the beginning of the first. */
export const summarySms = (summary: Summary): string => {
  const heading = summaryHeading(summary);
  let text = heading;
  let misses = 0;
  for (const { name } of summary.alarms) {
    const longer = `${text}${text === heading ? '. ' : ', '}${plainLine(name)}`;
    if (fitsSms(longer)) text = longer;
    else if (++misses === MAX_MISSES) break;
  }
  const withFirst = smsPart(`${heading}. ${summary.alarms[0]?.name}`);
  return text === heading && withFirst.startsWith(heading) ? withFirst : smsPart(text);
};

export type SmsEnvironment = Pick<
  ParsedEnvironment<'send-sms'>,
  'SMS_COUNTRIES' | 'SMS_SENDER_ID' | 'SMS_ORIGINATION_NUMBER' | 'SMS_MAX_PRICE_USD'
>;

/** Creates the transport of `sms` notifications. Delivered means accepted by SNS. */
export const createSmsTransport = (
  environment: SmsEnvironment,
  limits: MessageLimits,
  sharedRate: Pick<SharedRate, 'send'>,
): Transport => {
  const { publishSms } = createSnsClient();
  const { SMS_COUNTRIES: allowedPrefixes } = environment;
  const settings = {
    senderId: environment.SMS_SENDER_ID,
    originationNumber: environment.SMS_ORIGINATION_NUMBER,
    maxPriceUsd: environment.SMS_MAX_PRICE_USD,
  };
  const isAllowed = (phoneNumber: string) =>
    allowedPrefixes.length === 0 || allowedPrefixes.some((prefix) => phoneNumber.startsWith(prefix));
  return async (alert, { phone_number: phoneNumber = '' }) => {
    const { event, summary } = alert;
    if (!isAllowed(phoneNumber)) {
      return failed('permanent', 'country_not_allowed', 'Texts to this country are not allowed');
    }
    const send = async (): Promise<AttemptOutcome> => {
      const publish = (timeoutMs: number) =>
        publishSms(phoneNumber, summary ? summarySms(summary) : smsMessage(alert), settings, timeoutMs);
      const failure = await sendWithAws('sns', alert, publish);
      if (failure) return failure;
      logAccepted('sms accepted', alert);
      return { result: 'delivered', explanation: 'Success: Text message accepted for delivery' };
    };
    return limitOfAlert(limits, alert)(event.tenant_id, () => sharedRate.send(alert, send));
  };
};
