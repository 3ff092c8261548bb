import { alarmEvent } from '../../shared/contracts/alarm-event.ts';
import { isJsonObject, jsonOrUndefined } from '../../shared/contracts/json.ts';
import { planLists } from '../../shared/contracts/notification-plan.ts';
import { truncateKey } from '../../shared/contracts/text.ts';
import { readTrace } from '../../shared/contracts/trace.ts';
import { nearestName } from '../../shared/contracts/unknown-names.ts';
import type { CheckedEvent } from './event-check.ts';
import { describeSource } from './event-input.ts';
import { sanitize } from './print.ts';

const knownLists: readonly string[] = Object.values(planLists);

const knownKeys = [...Object.keys(alarmEvent.shape), 'check', 'log_entry_id', 'traceparent', 'tracestate'];
const knownDetails = ['state', 'status', 'timestamp'];

/** The most misspelled keys that are named. */
const MAX_KEYS = 10;

/** Names keys that are most like a known one that is missing. Producers may send any others. */
const misspelledKeys = (path: string, value: unknown, known: readonly string[]): string[] => {
  if (!isJsonObject(value)) return [];
  const missing = known.filter((name) => value[name] === undefined);
  const misspelled = Object.keys(value).flatMap((key) => {
    const nearest = known.includes(key) ? undefined : nearestName(key, missing);
    return nearest === undefined ? [] : [`${nameOf(path, key)} is unknown: the nearest known key is ${nearest}`];
  });
  return misspelled.slice(0, MAX_KEYS);
};

const nameOf = (path: string, key: string): string => path + truncateKey(sanitize(key));

/** Names unknown lists of a plan. Dispatch reports only that there are some, because it logs no content of an event. */
const unknownLists = (plan: unknown): string[] =>
  Object.entries(isJsonObject(plan) ? plan : {})
    .filter(([key, value]) => Array.isArray(value) && !knownLists.includes(key))
    .map(([key]) => {
      const nearest = nearestName(key, knownLists);
      const hint = nearest ? `the nearest known list is ${nearest}` : `the lists are ${knownLists.join(', ')}`;
      return `${nameOf('notification_plan.', key)} is unknown: ${hint}`;
    });

/** Dispatch drops an invalid trace without a warning, because the alert is complete without it. */
const traceWarnings = (event: Readonly<Record<string, unknown>>): string[] => {
  const { headers } = readTrace(event) ?? {};
  return (['traceparent', 'tracestate'] as const)
    .filter((name) => event[name] !== undefined && headers?.[name] === undefined)
    .map((name) => `${name} is not valid and is dropped`);
};

const adviceOn = (event: Record<string, unknown>): string[] => [
  ...misspelledKeys('', event, knownKeys),
  ...misspelledKeys('details.', event.details, knownDetails),
  ...traceWarnings(event),
  ...unknownLists(event.notification_plan),
];

/**
 * Adds what dispatch does not report about an event: misspelled keys, an invalid trace, the names of unknown lists, and the
 * event before it that has the same ID and other content.
 */
export const withAdvice = (events: readonly CheckedEvent[]): CheckedEvent[] => {
  const firstOfId = new Map<string, { input: CheckedEvent['input']; contentHash: string }>();
  return events.map((checked) => {
    const { input, ids, planned } = checked;
    const event = jsonOrUndefined(input.text);
    const advice = isJsonObject(event) ? adviceOn(event) : [];
    const warnings = [...checked.warnings, ...advice];
    if (!planned) return { ...checked, warnings };
    const { contentHash } = planned.shared;
    const id = JSON.stringify([ids.tenant_id, ids.event_id]);
    const first = firstOfId.get(id);
    if (!first) firstOfId.set(id, { input, contentHash });
    if (!first || first.contentHash === contentHash) return { ...checked, warnings };
    const error = `event_id is also that of ${describeSource(first.input)}, whose content differs: only the one that arrives first is sent`;
    return { ...checked, errors: [error], warnings, planned: undefined };
  });
};
