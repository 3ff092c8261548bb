import { Console } from 'node:console';
import { measureIsolation } from './isolation.ts';

/** `npm run isolation -- [events] [workers]`: what one tenant's hanging endpoint costs another tenant. */
const [events = 1_000, workers = 128] = process.argv.slice(2).map(Number);

const { alone, besideHanging, hanging } = await measureIsolation(events, workers);
new Console(process.stdout).table({
  'ten alerts alone (ms to the last arrival)': alone,
  [`the same beside ${events} alerts to an endpoint that hangs`]: besideHanging,
  'alerts hanging meanwhile': hanging,
});
if (besideHanging > alone + 2_000) process.exitCode = 1;
