import { type AlarmEvent, webhookPayload } from '../contracts/alarm-event.ts';
import { facts, headline } from './alert-text.ts';

/** Below the SNS limit of 256 KB. */
const MAX_MESSAGE_BYTES = 200 * 1024;
/** SNS limits subjects to fewer than 100 printable ASCII characters. */
const MAX_SUBJECT_LENGTH = 99;

/** Returns the message for operators as plain text: tenant, facts and, if it fits, the webhook payload. */
export const operatorMessage = (event: AlarmEvent): { subject: string; text: string } => {
  const lines = [
    `Tenant: ${event.tenant_id}`,
    headline(event),
    ...facts(event).map(([name, value]) => `${name}: ${value}`),
  ];
  const summary = lines.join('\n');
  const withPayload = `${summary}\n\n${JSON.stringify(webhookPayload(event))}`;
  return {
    subject: `${event.tenant_id} ${headline(event)}`.replace(/[^\x20-\x7e]/g, '?').slice(0, MAX_SUBJECT_LENGTH),
    text: Buffer.byteLength(withPayload) <= MAX_MESSAGE_BYTES ? withPayload : summary,
  };
};
