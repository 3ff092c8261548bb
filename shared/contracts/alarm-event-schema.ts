import * as z from 'zod';
import { alarmEvent } from './alarm-event.ts';

const ids = {
  type: 'array',
  items: { type: 'string' },
  description: 'Ids of the notifications that hear of this state, each once',
};

/** What the schema says besides what is checked: fields that mean something, and may be left out. */
const meanings = {
  previous_state: {
    description: 'The state before; notifications are sent only where it differs from details.state, or is absent',
    enum: ['OK', 'WARNING', 'CRITICAL', null],
  },
  notification_plan: {
    description: 'Who hears of which state',
    type: ['object', 'null'],
    properties: { id: { type: 'string' }, ok_state: ids, warning_state: ids, critical_state: ids },
  },
  log_entry_id: { description: 'Passed on as it is' },
  check: { description: 'Passed on as it is' },
};

/** The JSON Schema of an alarm event, generated from what the dispatch parses with, for the team of the alarm pipeline. */
export const alarmEventJsonSchema = () => {
  const schema = z.toJSONSchema(alarmEvent);
  return {
    ...schema,
    title: 'Alarm event',
    description: 'The body of a message on the alarm-events queue: at most 900 KiB, fields beyond these pass untouched',
    properties: { ...schema.properties, ...meanings },
  };
};
