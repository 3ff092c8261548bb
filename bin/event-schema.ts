// `npm run --silent event-schema` prints the JSON Schema of an alarm event, published in `shared/contracts/`.
require('./supported-node.ts');
import('../shared/contracts/alarm-event-schema.ts').then(({ alarmEventJsonSchema }) => {
  process.stdout.write(`${JSON.stringify(alarmEventJsonSchema(), null, 2)}\n`);
});
