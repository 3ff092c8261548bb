import { isJsonObject, jsonOrUndefined } from '../../shared/contracts/json.ts';
import { planLists } from '../../shared/contracts/notification-plan.ts';
import { truncateKey } from '../../shared/contracts/text.ts';
import { readTrace } from '../../shared/contracts/trace.ts';
import type { CheckedEvent } from './event-check.ts';
import { describeSource } from './event-input.ts';
import { sanitize } from './print.ts';

const knownLists: readonly string[] = Object.values(planLists);

/** Names unknown lists of a plan. Dispatch reports only that there are some, because it logs no content of an event. */
const unknownLists = (plan: unknown): string[] =>
  Object.entries(isJsonObject(plan) ? plan : {})
    .filter(([key, value]) => Array.isArray(value) && !knownLists.includes(key))
    .map(
      ([key]) => `notification_plan.${truncateKey(sanitize(key))} is unknown: the lists are ${knownLists.join(', ')}`,
    );

/** Dispatch drops an invalid trace without a warning, because the alert is complete without it. */
const traceWarnings = (event: Readonly<Record<string, unknown>>): string[] => {
  const { headers } = readTrace(event) ?? {};
  return (['traceparent', 'tracestate'] as const)
    .filter((name) => event[name] !== undefined && headers?.[name] === undefined)
    .map((name) => `${name} is not valid and is dropped`);
};

const adviceOn = (event: Record<string, unknown>): string[] => [
  ...traceWarnings(event),
  ...unknownLists(event.notification_plan),
];

/**
 * Adds what dispatch does not report about an event: an invalid trace, the names of unknown lists, and the event before it that has the same ID and other content.
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
