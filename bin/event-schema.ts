import { alarmEventJsonSchema } from '../shared/contracts/alarm-event-schema.ts';

// `npm run --silent event-schema` prints the JSON Schema of an alarm event, published in `shared/contracts/`.
process.stdout.write(`${JSON.stringify(alarmEventJsonSchema(), null, 2)}\n`);
