import type { AlarmEvent } from '../contracts/alarm-event.ts';
import type { EventHeader, Fact } from '../contracts/event-header.ts';
import type { NoticeContent } from '../contracts/notice.ts';
import { DEFAULT_TIME_ZONE } from '../contracts/time-zone.ts';
import { HOUR_MS, MINUTE_MS, utcTime } from './time.ts';

/** The text of an unvalidated string, number or boolean. */
const scalar = (value: unknown): string | undefined => {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (JSON.isRawJSON(value)) return value.rawJSON;
  return typeof value === 'string' ? oneLine(value) || undefined : undefined;
};

const property = (value: unknown, key: string): unknown =>
  typeof value === 'object' && value !== null ? Object.entries(value).find(([name]) => name === key)?.[1] : undefined;

/** Without control characters. */
export const oneLine = (text: string): string =>
  text
    .toWellFormed()
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim();

/** Keeps line breaks, of which at most two follow each other, and no other control characters. */
export const multiLine = (text: string): string =>
  text
    .split(/\r\n|[\n\v\f\r\u0085\u2028\u2029]/)
    .map(oneLine)
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim();

/**
 * For subjects and SMS, without categories Cc and Cf: directional overrides could rearrange the text, and invisible
 * characters hide differences. Emoji joined by zero-width joiners become separate ones.
 */
export const plainLine = (text: string): string => oneLine(text.replace(/\p{Cf}+/gu, ''));

/** Returns the label of an entity, alarm or check, or its ID. */
export const nameOf = (record: unknown): string | undefined =>
  scalar(property(record, 'label')) ?? scalar(property(record, 'id'));

/** For subjects and SMS: the label or ID, whichever has visible characters. */
export const plainNameOf = (record: unknown): string | undefined =>
  ['label', 'id'].map((key) => plainLine(scalar(property(record, key)) ?? '')).find((name) => name !== '');

/** To `maxLength` code points, ending with "...". */
export const truncate = (text: string, maxLength: number): string => {
  const codePoints = [...text];
  return codePoints.length <= maxLength ? text : `${codePoints.slice(0, maxLength - 3).join('')}...`;
};

/** To `maxLength` UTF-16 units of a well-formed text, ending with "...". */
export const truncateUnits = (text: string, maxLength: number): string =>
  text.length <= maxLength ? text : `${text.slice(0, maxLength - 3).replace(/[\ud800-\udbff]$/, '')}...`;

/** To `maxBytes` of UTF-8 of a well-formed text, ending with "...". */
export const truncateBytes = (text: string, maxBytes: number): string => {
  if (Buffer.byteLength(text) <= maxBytes) return text;
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(maxBytes - 3));
  return `${text.slice(0, read)}...`;
};

/** In code points; SES accepts more, but email clients truncate the subject. */
const MAX_HEADLINE_LENGTH = 200;

/** For subjects and SMS: undefined without visible characters. */
export const plainName = ({ name, plain_name = name }: EventHeader['entity']): string | undefined =>
  plain_name || undefined;

/** Alerts that are sent later than this after SQS accepted them say so. */
const MAX_UNMENTIONED_DELAY_MS = 2 * MINUTE_MS;

/** Returns a state such as `CRITICAL (delayed by 7 minutes)`, from two hours on in hours. */
export const lateState = (state: string, delayMs = 0): string => {
  if (delayMs <= MAX_UNMENTIONED_DELAY_MS) return state;
  const minutes = Math.floor(delayMs / MINUTE_MS);
  return `${state} (delayed by ${minutes < 120 ? `${minutes} minutes` : `${Math.floor(minutes / 60)} hours`})`;
};

type Named = Pick<EventHeader, 'state' | 'entity' | 'alarm'>;

const headlineOf = (state: string, delayMs: number | undefined, entity = '?', alarm = '?'): string =>
  truncate(`${lateState(`[${state}]`, delayMs)} ${entity}: ${alarm}`, MAX_HEADLINE_LENGTH);

/** Returns `[CRITICAL] web-1: Disk space`. @param delayMs the time since SQS accepted the event */
export const headline = ({ state, entity, alarm }: Named, delayMs?: number): string =>
  headlineOf(state, delayMs, entity.name, alarm.name);

/** The headline for subjects and SMS, without format characters. */
export const subjectLine = ({ state, entity, alarm }: Named, delayMs?: number): string =>
  headlineOf(state, delayMs, plainName(entity), plainName(alarm));

/** Truncated to the length of a headline. It has no format characters (`createNotice`). */
export const noticeSubject = ({ subject }: Pick<NoticeContent, 'subject'>): string =>
  truncate(subject, MAX_HEADLINE_LENGTH);

/** @param timeMs ms since the epoch */
export type TimeText = (timeMs: number) => string;

export const factTexts = (rows: readonly Fact[], timeText: TimeText = utcTime): [name: string, text: string][] =>
  rows.map(([name, value]) => [name, typeof value === 'number' ? timeText(value) : value]);

export const factLines = (rows: readonly Fact[], timeText?: TimeText): string =>
  factTexts(rows, timeText)
    .map(([name, text]) => `${name}: ${text}`)
    .join('\n');

const idNames = ['ID', 'Event'];

/** Returns the facts that come before the commands of a notice, and the IDs that come after them. */
export const noticeFacts = ({ facts: rows }: Pick<NoticeContent, 'facts'>): { first: Fact[]; ids: Fact[] } => {
  const isId = ([name]: Fact): boolean => idNames.includes(name);
  return { first: rows.filter((row) => !isId(row)), ids: rows.filter(isId) };
};

export const LINK_TEXT = 'Open the alarm';

export const linkLines = (alarmUrl: string | undefined): string[] =>
  alarmUrl === undefined ? [] : [`${LINK_TEXT}: ${alarmUrl}`];

export const noticeText = (notice: NoticeContent, alarmUrl?: string, timeText?: TimeText): string => {
  const { first, ids } = noticeFacts(notice);
  const { paragraphs, commands = [] } = notice;
  return [
    ...paragraphs,
    ...linkLines(alarmUrl),
    factLines(first, timeText),
    ...commands.map(([name, command]) => `${name}:\n${command}`),
    factLines(ids, timeText),
  ]
    .filter((part) => part !== '')
    .join('\n\n');
};

export const statusText = ({ details: { status } }: Pick<AlarmEvent, 'details'>): string | undefined =>
  typeof status === 'string' ? multiLine(status) || undefined : scalar(status);

const byteUnits = ['KB', 'MB', 'GB', 'TB', 'PB', 'EB'];

/** Returns ` (1.1 GB)`, or nothing below 1 KB, which has 1,024 bytes. */
const inByteUnit = (bytes: number): string => {
  const exponent = Math.min(Math.floor(Math.log2(Math.abs(bytes)) / 10), byteUnits.length);
  const unit = byteUnits[exponent - 1];
  return unit === undefined ? '' : ` (${(bytes / 1_024 ** exponent).toFixed(1)} ${unit})`;
};

const metric = (value: unknown): string | undefined => {
  const data = scalar(property(value, 'data'));
  const unit = scalar(property(value, 'unit'));
  if (!data || !unit || unit === 'unknown') return data;
  return `${data} ${unit}${unit === 'bytes' ? inByteUnit(Number(data)) : ''}`;
};

const MAX_METRICS = 20;
const MAX_NAME_LENGTH = 100;
/** Lengths are in code points. */
export const MAX_VALUE_LENGTH = 1_000;

/** Returns what the event has, most important first. @param producedAtMs when the state changed, ms since the epoch */
export const facts = (event: AlarmEvent, producedAtMs: number | undefined): Fact[] => {
  const { details, entity, alarm, check, previous_state: previous } = event;
  const metrics =
    typeof details.metrics === 'object' && details.metrics !== null ? Object.entries(details.metrics) : [];
  const all: [string, Fact[1] | undefined][] = [
    ['State', previous ? `${details.state} (was ${scalar(previous) ?? 'unknown'})` : details.state],
    ['Status', statusText(event)],
    ['Entity', nameOf(entity)],
    ['Alarm', nameOf(alarm)],
    ['Since', producedAtMs],
    ['Check', nameOf(check)],
    ['Target', scalar(details.target)],
    ...metrics
      .slice(0, MAX_METRICS)
      .map(([name, value]): [string, string | undefined] => [oneLine(name), metric(value)]),
    ['Event', scalar(event.event_id)],
  ];
  return all.flatMap(([name, value]): Fact[] => {
    if (value === undefined) return [];
    const shown = typeof value === 'number' ? value : truncate(value, MAX_VALUE_LENGTH);
    return [[truncate(name, MAX_NAME_LENGTH), shown]];
  });
};

/** Such as `2026-01-01`, `03:24:05`, `UTC+01:00`. */
export type ZonedTime = { day: string; time: string; zone: string };

/** How Intl names an offset from UTC. Only before 1972, some have seconds. */
const OFFSET = /GMT([+-])(\d\d):(\d\d)$/;

/** Such as `GMT+01:00`, or none if this version of Node.js does not know the time zone. */
const offsetsOf = (timeZone: string): ((timeMs: number) => string) => {
  // The first formatter of a function takes tens of ms.
  if (timeZone === DEFAULT_TIME_ZONE) return () => '';
  try {
    return new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' }).format;
  } catch {
    return () => '';
  }
};

/** From ms since the epoch. An unknown time zone counts as UTC. */
export const timesIn = (timeZone: string): ((timeMs: number) => ZonedTime) => {
  const offsetAt = offsetsOf(timeZone);
  return (timeMs) => {
    const [, sign, hours = '00', minutes = '00'] = OFFSET.exec(offsetAt(timeMs)) ?? [];
    const offsetMs = Number(hours) * HOUR_MS + Number(minutes) * MINUTE_MS;
    const [day = '', time = ''] = new Date(timeMs + (sign === '-' ? -offsetMs : offsetMs)).toISOString().split('T');
    return { day, time: time.slice(0, 8), zone: offsetMs === 0 ? 'UTC' : `UTC${sign}${hours}:${minutes}` };
  };
};

/** Such as `2026-01-01 03:24:05 UTC+01:00`. */
export const secondText = ({ day, time, zone }: ZonedTime): string => `${day} ${time} ${zone}`;

/** Such as `2026-01-01 03:24 UTC+01:00`. */
export const minuteText = ({ day, time, zone }: ZonedTime): string => `${day} ${time.slice(0, 5)} ${zone}`;
