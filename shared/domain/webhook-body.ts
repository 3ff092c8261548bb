import type { AlarmState } from '../contracts/alarm-event.ts';
import {
  type AlertName,
  escapedText,
  type Placeholder,
  parseBodyTemplate,
  placeholderText,
} from '../contracts/body-template.ts';
import { factLines, lateState, noticeText, subjectLine, truncateUnits } from './alert-text.ts';
import { jsonSources } from './json-source.ts';
import type { Alert } from './transport.ts';

/** The maximum size of a body that a template produces, in bytes. */
export const MAX_BODY_BYTES = 256 * 1024;

/** Returns a value as it stands within a text: JSON if it is an object or list. */
const asText = (source: string): string => {
  if (source === 'null') return '';
  return source.startsWith('"') ? source.slice(1, -1) : escapedText(source);
};

/** What placeholders can name of an alert. */
type RenderedAlert = Pick<Alert, 'payload'> & DescribedAlert;

/** Returns all values that placeholders can name, as JSON. */
const valuesOf = (alert: RenderedAlert): string => {
  const derived = { previous_state: alert.event.previous_state, alert: alertValues(alert) };
  return `${JSON.stringify(derived).slice(0, -1)},${alert.payload.slice(1)}`;
};

/** Returns the value of a placeholder as it stands in the body. @param source its JSON */
const json = ({ isInText }: Placeholder, source = 'null'): string => (isInText ? asText(source) : source);

/** Returns the sources of the values of placeholders, undefined without a value. */
const sourcesOf = (placeholders: readonly Placeholder[], alert: RenderedAlert) =>
  jsonSources(
    valuesOf(alert),
    placeholders.map(({ path }) => path),
  );

/** Returns the placeholders of a template that have no value in an alert, or null, each once. */
export const placeholdersWithoutValue = (template: unknown, alert: RenderedAlert): string[] => {
  const placeholders = parseBodyTemplate(template).filter((part) => typeof part !== 'string');
  const sources = sourcesOf(placeholders, alert);
  const missing = placeholders.filter((_, index) => (sources[index] ?? 'null') === 'null');
  return [...new Set(missing.map(placeholderText))];
};

/**
 * Returns the body that a template produces for an alert, as JSON (docs/api.md#placeholders), or undefined if it has
 * more than `MAX_BODY_BYTES`.
 *
 * @param template a body that `parseBodyTemplate` accepts
 */
export const webhookBody = (template: unknown, alert: RenderedAlert): string | undefined => {
  const parts = parseBodyTemplate(template);
  const placeholders = parts.filter((part) => typeof part !== 'string');
  const sources = sourcesOf(placeholders, alert);
  const texts: string[] = [];
  let [bytes, next] = [0, 0];
  for (const part of parts) {
    const text = typeof part === 'string' ? part : json(part, sources[next++]);
    bytes += Buffer.byteLength(text);
    if (bytes > MAX_BODY_BYTES) return undefined;
    texts.push(text);
  }
  return texts.join('');
};

/** Maximum length of `alert.title` in UTF-16 units: that of a Slack header. */
export const MAX_TITLE_LENGTH = 150;

/** Maximum length of `alert.text` in UTF-16 units: fits into a Discord message, which has the lowest limit, 2,000. */
export const MAX_TEXT_LENGTH = 1_900;

/** How receivers show a state: a color of HTML, a style of Adaptive Cards, and an emoji. */
const appearances: Record<AlarmState, { color: string; style: string; emoji: string }> = {
  OK: { color: '#2e7d32', style: 'good', emoji: '✅' },
  WARNING: { color: '#f9a825', style: 'warning', emoji: '⚠️' },
  CRITICAL: { color: '#d32f2f', style: 'attention', emoji: '🚨' },
};

/** What the values of an alert are derived from. */
type DescribedAlert = Pick<Alert, 'event' | 'notice' | 'eventTimeMs' | 'delayMs' | 'alarmUrl'>;

/** Returns what an alert says, one fact per line. A late one says so after its state, which comes first. */
const textOf = ({ event: { state, facts }, notice, delayMs }: DescribedAlert): string => {
  if (notice) return `${notice.subject}\n\n${noticeText(notice)}`;
  const withDelay = (text: string) => text.replace(state, () => lateState(state, delayMs));
  return factLines(facts.map(([name, value], index) => [name, index === 0 ? withDelay(String(value)) : value]));
};

/** Returns the values that placeholders name with `alert.` (docs/api.md#placeholders). */
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
