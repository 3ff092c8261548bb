import * as z from 'zod';
import { alarmEvent, HEARTBEAT_TENANT, planLists } from './alarm-event.ts';
import { NOTICE_EVENT_ID } from './notice.ts';

/** Raised whenever a rule changes. */
const SCHEMA_VERSION = '4.0.0';

const lists = Object.entries(planLists).map(([state, key]) => ({ state, key }));

/** A malformed list for another state is only a warning. */
const listRule = ({ state, key }: (typeof lists)[number]) => ({
  if: { properties: { details: { properties: { state: { const: state } } } } },
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  then: {
    properties: {
      notification_plan: { properties: { [key]: { type: ['array', 'null'], items: { type: 'string' } } } },
    },
  },
});

const plan = {
  description:
    'The notifications for each state. A list that is missing, empty or null has no notifications. Other fields, such as an id, are ignored; a list under another name is reported as a warning.',
  type: 'object',
  anyOf: lists.map(({ key }) => ({ required: [key] })),
  properties: Object.fromEntries(
    lists.map(({ state, key }) => [
      key,
      { description: `A list of the IDs of the notifications for ${state}. Duplicates are ignored.` },
    ]),
  ),
};

/** Optional fields, which dispatch uses or forwards without validating them. */
const unvalidatedFields = {
  previous_state: {
    description:
      'The previous state, text of at most 255 characters. Notifications are sent only if it differs from details.state or is absent. Anything else is reported as a warning and counts as absent.',
  },
  log_entry_id: { description: 'Forwarded unchanged.' },
  check: { description: 'Forwarded unchanged, with all of its fields.' },
  traceparent: {
    description:
      'The trace of the alert, as in the header of W3C Trace Context: HTTP receivers get it as a header. An invalid value is dropped. Without it, the message attribute of this name applies.',
  },
  tracestate: {
    description: 'The header of this name, at most 512 characters. Dropped without a valid traceparent beside it.',
  },
};

const timestamp = {
  description:
    'When the state changed, in milliseconds since the epoch: a whole number of at least 1000000000000, at most 60 seconds after SQS accepts the event. Anything else is reported as a warning and counts as absent; then the milliseconds in event_id apply, otherwise the time at which SQS accepts the event.',
};

/** For producers: accepts an event if dispatch does. */
export const alarmEventJsonSchema = () => {
  const { $schema, properties = {}, required = [], ...rest } = z.toJSONSchema(alarmEvent);
  const details = z.looseObject({ properties: z.looseObject({}) }).parse(properties.details);
  const [tenant, eventId] = [properties.tenant_id, properties.event_id].map((rule) => z.looseObject({}).parse(rule));
  return {
    $schema,
    $id: `urn:monitoring-notifications:alarm-event:${SCHEMA_VERSION}`,
    title: 'Alarm event',
    version: SCHEMA_VERSION,
    description:
      'The body of a message on the alarm-events queue. Not expressed here: the body is JSON of at most 256 KiB in UTF-8, not nested thousands of levels deep; the plan lists at most 1,024 different notifications for the state of the event, and its number times the size of the body is at most 64 MiB. Webhooks contain all fields inside details, entity, check and alarm unchanged, digits of numbers included. Top-level fields that are not named here are dropped.',
    ...rest,
    properties: {
      ...properties,
      event_id: { ...eventId, not: { pattern: NOTICE_EVENT_ID.source } },
      tenant_id: { ...tenant, not: { const: HEARTBEAT_TENANT } },
      details: { ...details, properties: { ...details.properties, timestamp } },
      notification_plan: plan,
      ...unvalidatedFields,
    },
    required: [...required, 'notification_plan'],
    allOf: lists.map(listRule),
  };
};
