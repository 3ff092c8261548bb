import { Console } from 'node:console';
import { measureStorm } from './storm.ts';

/**
 * `npm run storm -- [events] [seconds] [minutes of a window]`: prints what a storm of alerts of one tenant causes
 * (docs/benchmarks.md#storm). The run fails if an alert was neither delivered nor summarized.
 */
const [events = 50_000, seconds = 300, windowMinutes = 5] = process.argv.slice(2).map(Number);
const { table } = new Console(process.stdout);

const { alone, besideStorm, alerts, ...result } = await measureStorm(events, seconds, windowMinutes);
table({ 'quiet tenant, alone (ms)': alone, 'beside the storm (ms)': besideStorm });
table({ ...result, alerts: events * 2, ...alerts });
const { delivered = 0, summarized = 0 } = alerts;
if (delivered + summarized !== events * 2) process.exitCode = 1;
