import type { AwsCall } from 'local-aws/aws-service.ts';
import { integer, type Random } from '../engine/random.ts';
import type { Arrival, ArrivalKind } from './receivers.ts';

/** What SES reports about an email that it had accepted. */
export type EmailReport = {
  /** When it is sent, ms since the start. */
  atMs: number;
  to: string;
  /** The ID of the notification. */
  notificationId: string;
  numbers: readonly number[];
  /** What the email was. */
  of: ArrivalKind;
  kind: 'Bounce' | 'Complaint' | 'Reject';
  /** Whether the technical contacts are notified of it. */
  isPermanent: boolean;
};

/** Options of reports. */
export type EmailReportOptions = {
  /** The probability that an accepted email is reported, from 0 to 1. */
  rate: number;
  random: Random;
  isActive: () => boolean;
  nowMs: () => number;
  /** Sends a message to the queue of email events after a delay in ms. */
  send: (body: string, afterMs: number) => void;
};

/** A report may precede the record of its email. */
const MAX_DELAY_MS = 300_000;

const tagsOf = ({ body }: AwsCall): { [name: string]: string[]; notification?: string[] } => {
  const form = new URLSearchParams(body.toString());
  return Object.fromEntries(
    [...form]
      .filter(([name]) => /^Tags\.member\.\d+\.Name$/.test(name))
      .map(([name, tag]) => [tag, [form.get(name.replace(/Name$/, 'Value')) ?? '']]),
  );
};

/** SES after it accepted emails: some bounce, are rejected, or are reported as spam. Some events are sent twice. */
export const createEmailReports = ({ rate, random, isActive, nowMs, send }: EmailReportOptions) => {
  const reports: EmailReport[] = [];
  return {
    reports,
    onAccepted(call: AwsCall, address: string, arrival: Pick<Arrival, 'to' | 'numbers'> & { of: ArrivalKind }): void {
      if (rate === 0 || !isActive() || random() >= rate) return;
      const kind = (['Bounce', 'Bounce', 'Complaint', 'Reject'] as const)[integer(0, 3, random)] ?? 'Bounce';
      const isPermanent = kind !== 'Bounce' || random() < 0.7;
      const delayMs = random() < 0.3 ? 0 : integer(0, MAX_DELAY_MS, random);
      const tags = tagsOf(call);
      const [notificationId = ''] = tags.notification ?? [];
      reports.push({ ...arrival, notificationId, atMs: nowMs() + delayMs, kind, isPermanent });
      const mail = { messageId: `email-${reports.length}`, destination: [address], tags };
      const bounce = { bounceType: isPermanent ? 'Permanent' : 'Transient' };
      const detail = { eventType: kind, ...(kind === 'Bounce' && { bounce }), mail };
      const body = JSON.stringify({ source: 'aws.ses', detail });
      send(body, delayMs);
      if (random() < 0.2) send(body, delayMs + integer(0, MAX_DELAY_MS, random));
    },
  };
};
