import { Console } from 'node:console';
import { measureStorm } from './storm.ts';

/**
 * `npm run storm -- [events] [seconds] [minutes of a window]`: prints what a storm of alerts of one tenant causes
 * (docs/benchmarks.md#storm). The run fails if an alert was neither delivered nor summarized.
 */
const [events = 50_000, seconds = 300, windowMinutes = 5] = process.argv.slice(2).map(Number);
const { table } = new Console(process.stdout);

const { alone, besideStorm, alerts, ...result } = await measureStorm(events, seconds, windowMinutes);
table({
  'webhooks, alone (ms)': alone.webhook,
  'webhooks, beside the storm': besideStorm.webhook,
  'emails, alone': alone.email,
  'emails, beside the storm': besideStorm.email,
});
table({ ...result, alerts: events * 2, ...alerts });
const { delivered = 0, summarized = 0 } = alerts;
const { deadLetters, failedInvocations, emails, maxEmails, sms, maxSms } = result;
const isComplete = delivered + summarized === events * 2 && deadLetters === 0 && failedInvocations === 0;
if (!isComplete || emails > maxEmails || sms > maxSms) process.exitCode = 1;
