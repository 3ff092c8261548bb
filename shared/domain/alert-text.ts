import type { AlarmEvent } from '../contracts/alarm-event.ts';

/** A short text or number of an event, whose fields nobody has checked; undefined for anything else. */
const scalar = (value: unknown): string | undefined => {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (JSON.isRawJSON(value)) return value.rawJSON;
  return typeof value === 'string' ? oneLine(value) || undefined : undefined;
};

/** A property of something that may be anything. */
const property = (value: unknown, key: string): unknown =>
  typeof value === 'object' && value !== null ? Object.entries(value).find(([name]) => name === key)?.[1] : undefined;

const oneLine = (text: string): string =>
  text
    .toWellFormed()
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim();

const named = (record: unknown): string | undefined => {
  const name = scalar(property(record, 'label')) ?? scalar(property(record, 'id'));
  return name === undefined ? undefined : oneLine(name);
};

/** Cuts a text on a code point, and says so with dots. */
export const shortened = (text: string, length: number): string => {
  const points = [...text];
  return points.length <= length ? text : `${points.slice(0, length - 3).join('')}...`;
};

/** SES and mail readers take more, but nobody reads it. In code points. */
const SUBJECT_LENGTH = 200;

/** One line that says what happened: `[CRITICAL] web-1: Disk space`. It never holds a line break. */
export const headline = ({ details, entity, alarm }: AlarmEvent): string =>
  shortened(`[${details.state}] ${named(entity) ?? '?'}: ${named(alarm) ?? '?'}`, SUBJECT_LENGTH);

/** What the alarm said about its state, or nothing. */
export const statusText = ({ details }: AlarmEvent): string | undefined => {
  const status = scalar(details.status);
  return status === undefined ? undefined : oneLine(status);
};

const time = (timestamp: unknown): string | undefined => {
  const date = new Date(typeof timestamp === 'number' ? timestamp : Number.NaN);
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString();
};

const metric = (value: unknown): string | undefined => {
  const data = scalar(property(value, 'data'));
  const unit = scalar(property(value, 'unit'));
  return data && (unit && unit !== 'unknown' ? `${data} ${unit}` : data);
};

/** Metrics that a message shows at most. */
const MAX_METRICS = 20;

/** The facts of an event as name and value, in the order in which a person on call wants them; unknown ones are left out. */
export const facts = (event: AlarmEvent): [name: string, value: string][] => {
  const { details, entity, alarm, check, previous_state: previous } = event;
  const metrics =
    typeof details.metrics === 'object' && details.metrics !== null ? Object.entries(details.metrics) : [];
  const all: [string, string | undefined][] = [
    ['State', previous ? `${details.state} (was ${scalar(previous) ?? 'unknown'})` : details.state],
    ['Status', statusText(event)],
    ['Entity', named(entity)],
    ['Alarm', named(alarm)],
    ['Check', named(check)],
    ['Target', scalar(details.target)],
    ['Time', time(details.timestamp)],
    ...metrics
      .slice(0, MAX_METRICS)
      .map(([name, value]): [string, string | undefined] => [oneLine(name), metric(value)]),
    ['Event', event.event_id],
  ];
  return all.flatMap(([name, value]) =>
    value === undefined ? [] : [[shortened(name, 100), shortened(oneLine(value), 1_000)]],
  );
};
