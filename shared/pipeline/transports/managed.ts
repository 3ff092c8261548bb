import { createSnsClient } from '../../adapters/sns.ts';
import type { NoticeContent } from '../../contracts/notice.ts';
import {
  factLines,
  headline,
  linkLines,
  noticeSubject,
  noticeText,
  subjectLine,
  truncateUnits,
} from '../../domain/alert-text.ts';
import type { Alert, AlertMessage, Transport } from '../../domain/transport.ts';
import type { DailyLimit } from '../daily-limit.ts';
import { sendWithAws } from './aws-call.ts';

/** More is of no use to a person, and 100 larger messages exceed the memory of the function. SNS accepts 256 KB. */
const MAX_MESSAGE_BYTES = 32 * 1024;
/** In UTF-16 units: SNS limits subjects to fewer than 100 characters. */
const MAX_SUBJECT_LENGTH = 99;

export type OperatorMessage = { subject: string; text: string };

const operatorNotice = (tenant: string, notice: NoticeContent, alarmUrl: string | undefined): OperatorMessage => ({
  subject: truncateUnits(`${tenant} ${noticeSubject(notice)}`, MAX_SUBJECT_LENGTH),
  text: [`Tenant: ${tenant}`, notice.subject, noticeText(notice, alarmUrl)].join('\n\n'),
});

/** Returns the message for operators: tenant, facts and, if it fits, the webhook payload. */
export const operatorMessage = (alert: Omit<AlertMessage, 'eventTimeMs'> & Pick<Alert, 'notice'>): OperatorMessage => {
  const { event, payload, notice, delayMs, alarmUrl } = alert;
  if (notice) return operatorNotice(event.tenant_id, notice, alarmUrl);
  const lines = [headline(event, delayMs), factLines(event.facts), ...linkLines(alarmUrl)];
  const summary = [`Tenant: ${event.tenant_id}`, ...lines].join('\n');
  const withPayload = `${summary}\n\n${payload}`;
  return {
    subject: truncateUnits(`${event.tenant_id} ${subjectLine(event, delayMs)}`, MAX_SUBJECT_LENGTH),
    text: Buffer.byteLength(withPayload) <= MAX_MESSAGE_BYTES ? withPayload : summary,
  };
};

/** Publishes to the operators' topic. A tenant's other messages do not use up the limit of escalations. */
export const createManagedTransport = (
  topicArn: string,
  dailyLimit: DailyLimit,
  noticeLimit: DailyLimit,
): Transport => {
  const { publishToTopic } = createSnsClient();
  return (alert) =>
    (alert.notice ? noticeLimit : dailyLimit)(alert.event.tenant_id, async () => {
      const publish = (timeoutMs: number) => publishToTopic(topicArn, operatorMessage(alert), timeoutMs);
      const failure = await sendWithAws('sns', alert, publish);
      return failure ?? { result: 'delivered', explanation: 'Success: Operators were told' };
    });
};
