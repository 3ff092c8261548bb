import type { AlarmState } from '../contracts/alarm-event.ts';
import {
  type AlertName,
  escapedText,
  type Placeholder,
  parseBodyTemplate,
  placeholderText,
} from '../contracts/body-template.ts';
import { isJsonObject, parseJson } from '../contracts/json.ts';
import { factLines, lateState, noticeText, subjectLine, truncateUnits } from './alert-text.ts';
import type { Alert } from './transport.ts';

export const MAX_WEBHOOK_BODY_BYTES = 256 * 1024;

/** Within a text, an object or list is JSON. */
const textOfValue = (value: unknown, { isInText }: Placeholder): string => {
  if (isInText && value === null) return '';
  const json = JSON.stringify(value);
  if (!isInText) return json;
  return typeof value === 'string' ? json.slice(1, -1) : escapedText(json);
};

type RenderedAlert = Pick<Alert, 'payload'> & DescribedAlert;

const valuesOf = (alert: RenderedAlert): unknown => {
  const payload = parseJson(alert.payload);
  const derived = { previous_state: alert.event.previous_state, alert: alertValues(alert) };
  return { ...derived, ...(isJsonObject(payload) && payload) };
};

const entryOf = (value: unknown, key: string): unknown => {
  if (Array.isArray(value)) return /^(?:0|[1-9]\d{0,9})$/.test(key) ? value[Number(key)] : undefined;
  return isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
};

const placeholderValue = ({ path }: Placeholder, values: unknown): unknown => path.reduce(entryOf, values) ?? null;

export const placeholdersWithoutValue = (template: unknown, alert: RenderedAlert): string[] => {
  const values = valuesOf(alert);
  const placeholders = parseBodyTemplate(template).filter((part) => typeof part !== 'string');
  const missing = placeholders.filter((placeholder) => placeholderValue(placeholder, values) === null);
  return [...new Set(missing.map(placeholderText))];
};

/** Returns JSON (docs/api.md#placeholders), undefined above `MAX_WEBHOOK_BODY_BYTES`. */
export const webhookBody = (template: unknown, alert: RenderedAlert): string | undefined => {
  const parts = parseBodyTemplate(template);
  const values = parts.some((part) => typeof part !== 'string') ? valuesOf(alert) : undefined;
  const texts: string[] = [];
  let bytes = 0;
  for (const part of parts) {
    const text = typeof part === 'string' ? part : textOfValue(placeholderValue(part, values), part);
    bytes += Buffer.byteLength(text);
    if (bytes > MAX_WEBHOOK_BODY_BYTES) return undefined;
    texts.push(text);
  }
  return texts.join('');
};

/** In UTF-16 units: that of a Slack header. */
export const MAX_TITLE_LENGTH = 150;
/** In UTF-16 units: fits into a Discord message, which has the lowest limit, 2,000. */
export const MAX_TEXT_LENGTH = 1_900;

/** A color of HTML, a style of Adaptive Cards, and an emoji. */
const appearances: Record<AlarmState, { color: string; style: string; emoji: string }> = {
  OK: { color: '#2e7d32', style: 'good', emoji: '✅' },
  WARNING: { color: '#f9a825', style: 'warning', emoji: '⚠️' },
  CRITICAL: { color: '#d32f2f', style: 'attention', emoji: '🚨' },
};

type DescribedAlert = Pick<Alert, 'event' | 'notice' | 'eventTimeMs' | 'delayMs' | 'alarmUrl'>;

/** One fact per line. A late alert says so after its state, which comes first. */
const textOf = ({ event: { state, facts }, notice, delayMs }: DescribedAlert): string => {
  if (notice) return `${notice.subject}\n\n${noticeText(notice)}`;
  const withDelay = (text: string) => text.replace(state, () => lateState(state, delayMs));
  return factLines(facts.map(([name, value], index) => [name, index === 0 ? withDelay(String(value)) : value]));
};

/** The values that placeholders name with `alert.` (docs/api.md#placeholders). */
export const alertValues = (alert: DescribedAlert): Readonly<Record<AlertName, string | number | null>> => {
  const { event, eventTimeMs, delayMs, alarmUrl = null } = alert;
  const { state } = event;
  return {
    ...appearances[state],
    title: truncateUnits(subjectLine(event, delayMs), MAX_TITLE_LENGTH),
    text: truncateUnits(textOf(alert), MAX_TEXT_LENGTH),
    state,
    status: state === 'OK' ? 'resolved' : 'firing',
    color_number: Number.parseInt(appearances[state].color.slice(1), 16),
    time: new Date(eventTimeMs).toISOString().replace(/\.\d+Z$/, 'Z'),
    incident_key: event.incident_key,
    url: alarmUrl,
  };
};
