import { webhookPayload } from '../contracts/alarm-event.ts';
import { escapedText, type Placeholder, parseBodyTemplate } from '../contracts/body-template.ts';
import { alertValues } from './alert-values.ts';
import type { Alert } from './transport.ts';

/** The maximum size of a body that a template produces, in bytes. */
export const MAX_BODY_BYTES = 256 * 1024;

const isContainer = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !JSON.isRawJSON(value);

/** Returns the entry of an object or list, or undefined. Inherited properties and `length` are no entries. */
const entryOf = (value: unknown, key: string): unknown =>
  isContainer(value) && Object.prototype.propertyIsEnumerable.call(value, key) ? value[key] : undefined;

/** Returns a value as it stands within a text: JSON if it is an object or list. */
const asText = (value: unknown): string => {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
};

/** Returns the value of a placeholder as it stands in the body. */
const json = ({ path, isInText }: Placeholder, values: unknown): string => {
  const value = path.reduce(entryOf, values);
  return isInText ? escapedText(asText(value)) : JSON.stringify(value ?? null);
};

/**
 * Returns the body that a template produces for an alert, as JSON (docs/api.md#placeholders), or undefined if it has
 * more than `MAX_BODY_BYTES`.
 *
 * @param template a body that `parseBodyTemplate` accepts
 */
export const webhookBody = (template: unknown, alert: Pick<Alert, 'event' | 'eventTimeMs'>): string | undefined => {
  const { event } = alert;
  const values = { ...webhookPayload(event), previous_state: event.previous_state, alert: alertValues(alert) };
  const texts: string[] = [];
  let bytes = 0;
  for (const part of parseBodyTemplate(template)) {
    const text = typeof part === 'string' ? part : json(part, values);
    bytes += Buffer.byteLength(text);
    if (bytes > MAX_BODY_BYTES) return undefined;
    texts.push(text);
  }
  return texts.join('');
};
