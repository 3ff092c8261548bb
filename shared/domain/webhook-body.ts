import { escapedText, type Placeholder, parseBodyTemplate, placeholderText } from '../contracts/body-template.ts';
import { alertValues } from './alert-values.ts';
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
type RenderedAlert = Pick<Alert, 'event' | 'payload' | 'eventTimeMs'>;

/** Returns all values that placeholders can name, as JSON. */
const valuesOf = ({ event, payload, eventTimeMs }: RenderedAlert): string => {
  const derived = { previous_state: event.previous_state, alert: alertValues({ event, eventTimeMs }) };
  return `${JSON.stringify(derived).slice(0, -1)},${payload.slice(1)}`;
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
