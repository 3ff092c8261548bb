import { type AlarmEvent, webhookPayload } from '../contracts/alarm-event.ts';
import { facts, headline } from './alert-text.ts';

/** An SNS message is at most 256 KB (AWS limit); what operators read is less. */
const MAX_BYTES = 200 * 1024;
/** An SNS subject is at most 100 characters of printable ASCII (AWS limit). */
const MAX_SUBJECT = 99;

/** What operators are told of an alarm: plain text, the tenant first, the whole payload last where it fits. */
export const operatorMessage = (event: AlarmEvent): { subject: string; text: string } => {
  const lines = [
    `Tenant: ${event.tenant_id}`,
    headline(event),
    ...facts(event).map(([name, value]) => `${name}: ${value}`),
  ];
  const summary = lines.join('\n');
  const whole = `${summary}\n\n${JSON.stringify(webhookPayload(event))}`;
  return {
    subject: `${event.tenant_id} ${headline(event)}`.replace(/[^\x20-\x7e]/g, '?').slice(0, MAX_SUBJECT),
    text: Buffer.byteLength(whole) <= MAX_BYTES ? whole : summary,
  };
};
