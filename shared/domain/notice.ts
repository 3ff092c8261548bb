import type { AlarmEvent } from '../contracts/alarm-event.ts';
import type { NoticeContent, NoticeKind } from '../contracts/notice.ts';
import { MAX_VALUE_LENGTH, oneLine, plainLine, truncate } from './alert-text.ts';
import { DAY_MS, startOf } from './time.ts';

/** Per tenant and UTC day: the cost of repeated notices, separate from the limits of alerts, which may be 0. */
export const MAX_NOTICE_MESSAGES_PER_DAY = { email: 10_000, managed: 1_000, sms: 100 } as const;

/** The alarm event that identifies a notice, and its text. */
export type Notice = {
  event: AlarmEvent;
  content: NoticeContent;
  /** That of the alert that the notice repeats. By default, the notice has its own. */
  incidentKey?: string;
  /** When SQS accepted that alert, ms since the epoch. By default, the notice is no older. */
  acceptedAtMs?: number;
};

/** One per kind, key and period: a repeated notice is a duplicate. @param startMs start of the period */
export const noticeId = (kind: NoticeKind, tenant: string, key: string, startMs: number): string =>
  `${tenant}:${key}:${startMs}:${kind}`;

export const dailyNoticeId = (kind: NoticeKind, tenant: string, key: string, atMs: number): string =>
  noticeId(kind, tenant, key, startOf(DAY_MS, atMs));

/** Each part is on one line, so that no value can imitate another part. The subject has no format characters. */
export const createNotice = (
  tenant: string,
  id: string,
  { kind, subject, paragraphs, facts, commands = [] }: NoticeContent,
  event: Partial<Pick<AlarmEvent, 'details' | 'entity' | 'alarm'>> = {},
): Notice => ({
  event: {
    event_id: id,
    tenant_id: tenant,
    details: { state: 'WARNING', status: subject },
    entity: { id: tenant },
    alarm: { id: kind },
    ...event,
  },
  content: {
    kind,
    subject: plainLine(subject),
    paragraphs: paragraphs.map(oneLine),
    facts: facts.map(([name, value]) => [
      oneLine(name),
      typeof value === 'number' ? value : truncate(oneLine(value), MAX_VALUE_LENGTH),
    ]),
    ...(commands.length > 0 && { commands: commands.map(([name, command]) => [oneLine(name), oneLine(command)]) }),
  },
});
