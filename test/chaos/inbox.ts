import type { InboxMessage } from '../../bin/local/inbox/inbox.ts';
import { DEFAULT_NOTIFICATION_ID, OPERATORS_NOTIFICATION_ID } from '../../shared/domain/notification-id.ts';
import type { Receipt } from './destinations.ts';

/**
 * The text of a notice, by email to a technical contact, to the operators' topic, or to the phone of a fallback
 * notification, whose ID is not known.
 */
export type NoticeMessage = {
  notificationId: string | undefined;
  recipient: string;
  subject: string;
  text: string;
};

/** Alerts have a headline such as `[CRITICAL] web-1: Disk space`, notices a sentence. */
const isHeadline = (text: string): boolean => /^\[(OK|WARNING|CRITICAL)\] /.test(text);

const SUMMARY = /^([\d,]+) alarms?: /;
const SUMMARY_ESCALATION = /a summary of (\d+ )?alarms? could not be delivered/;

/** Returns the number of alarms in a summary, or undefined if the message is none. */
export const summaryCountIn = (message: InboxMessage): number | undefined => {
  if (message.kind !== 'email' && message.kind !== 'sms') return undefined;
  const [, count] = SUMMARY.exec(message.kind === 'email' ? message.subject : message.text) ?? [];
  return count === undefined ? undefined : Number(count.replaceAll(',', ''));
};

/**
 * Returns whether a message is a summary, which is accounted for in the table because its text does not list all alarms,
 * or its escalation, which names no alert.
 */
export const isSummary = (message: InboxMessage): boolean => {
  if (summaryCountIn(message) !== undefined) return true;
  return 'text' in message && SUMMARY_ESCALATION.test(message.text);
};

/** Returns the notice in an inbox message, or undefined if the message is an alert. */
export const noticeIn = (message: InboxMessage): NoticeMessage | undefined => {
  if (isSummary(message)) return undefined;
  if (message.kind === 'email') {
    const { subject, text, to } = message;
    const notice = { notificationId: DEFAULT_NOTIFICATION_ID, recipient: to[0] ?? '', subject, text };
    return isHeadline(subject) ? undefined : notice;
  }
  if (message.kind === 'sms') {
    const { to: recipient, text } = message;
    const isEscalation = / Escalated: | reached nobody today$/.test(text);
    return isEscalation ? { notificationId: undefined, recipient, subject: text, text } : undefined;
  }
  if (message.kind !== 'managed') return undefined;
  const [tenantLine = '', subject = ''] = message.text.split(/\n+/);
  const recipient = tenantLine.replace(/^Tenant: /, '');
  const notice = { notificationId: OPERATORS_NOTIFICATION_ID, recipient, subject, text: message.text };
  return isHeadline(subject) ? undefined : notice;
};

/** Returns a receipt for each recipient of an alert in the inbox. Notices contain the headline of an alert, too. */
export const receiptsInInbox = (message: InboxMessage): Receipt[] => {
  if (noticeIn(message) || isSummary(message)) return [];
  const text = 'text' in message ? message.text : '';
  const number = /#(\d+)#/.exec(text)?.[1] ?? '';
  const atMs = Date.parse(message.sent_at);
  if (message.kind === 'email') return message.to.map((address) => ({ delivery: `${number} ${address}`, atMs }));
  if (message.kind === 'sms') return [{ delivery: `${number} ${message.to}`, atMs }];
  if (message.kind === 'managed') {
    return [{ delivery: `${number} tenant ${/^Tenant: (.*)$/m.exec(text)?.[1]}`, atMs }];
  }
  return [];
};
