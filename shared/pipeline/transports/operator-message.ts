import type { EventHeader } from '../../contracts/event-header.ts';
import type { NoticeContent } from '../../contracts/notice.ts';
import { headline, noticeSubject, noticeText, subjectLine } from '../../domain/alert-text.ts';

/** Below the SNS limit of 256 KB. */
const MAX_MESSAGE_BYTES = 200 * 1024;
/** SNS limits subjects to fewer than 100 printable ASCII characters. */
const MAX_SUBJECT_LENGTH = 99;

/** SNS accepts only printable ASCII in subjects. */
const asciiSubject = (text: string): string => text.replace(/[^\x20-\x7e]/g, '?').slice(0, MAX_SUBJECT_LENGTH);

/** A message to the operators' topic. */
export type OperatorMessage = { subject: string; text: string };

/** Returns the notice for operators as plain text. */
const operatorNotice = (tenant: string, notice: NoticeContent): OperatorMessage => {
  return {
    subject: asciiSubject(`${tenant} ${noticeSubject(notice)}`),
    text: [`Tenant: ${tenant}`, notice.subject, noticeText(notice)].join('\n\n'),
  };
};

/** Returns the message for operators as plain text: tenant, facts and, if it fits, the webhook payload. */
export const operatorMessage = (event: EventHeader, payload: string, notice?: NoticeContent): OperatorMessage => {
  if (notice) return operatorNotice(event.tenant_id, notice);
  const lines = [
    `Tenant: ${event.tenant_id}`,
    headline(event),
    ...event.facts.map(([name, value]) => `${name}: ${value}`),
  ];
  const summary = lines.join('\n');
  const withPayload = `${summary}\n\n${payload}`;
  return {
    subject: asciiSubject(`${event.tenant_id} ${subjectLine(event)}`),
    text: Buffer.byteLength(withPayload) <= MAX_MESSAGE_BYTES ? withPayload : summary,
  };
};
