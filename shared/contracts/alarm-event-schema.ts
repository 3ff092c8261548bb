import * as z from 'zod';
import { alarmEvent } from './alarm-event.ts';

const ids = {
  type: 'array',
  items: { type: 'string' },
  description: 'Ids of the notifications for this state; duplicates are ignored',
};

/** Optional fields that dispatch uses or forwards without validating them. */
const unvalidatedFields = {
  previous_state: {
    description: 'The previous state; notifications are sent only if it differs from details.state or is absent',
    enum: ['OK', 'WARNING', 'CRITICAL', null],
  },
  notification_plan: {
    description: 'The notifications for each state',
    type: ['object', 'null'],
    properties: { id: { type: 'string' }, ok_state: ids, warning_state: ids, critical_state: ids },
  },
  log_entry_id: { description: 'Forwarded unchanged' },
  check: { description: 'Forwarded unchanged' },
};

/** Returns the JSON Schema of an alarm event, for producers. */
export const alarmEventJsonSchema = () => {
  const schema = z.toJSONSchema(alarmEvent);
  return {
    ...schema,
    title: 'Alarm event',
    description:
      'The body of a message on the alarm-events queue: at most 900 KiB, other fields are forwarded unchanged',
    properties: { ...schema.properties, ...unvalidatedFields },
  };
};
