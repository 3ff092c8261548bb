import type { AwsCall } from 'local-aws/aws-service.ts';
import { type EmailEvent, emailEvents, type Mail, mailOf } from 'local-aws/ses-events.ts';
import { integer, type Random } from '../engine/random.ts';
import type { Arrival, ArrivalKind } from './receivers.ts';
import type { Behavior } from './scenario.ts';

/** An email that SES accepted. */
export type AcceptedEmail = {
  /** When, ms since the start. */
  acceptedMs: number;
  tenant: string;
  to: string;
  /** The ID of the notification; empty for a test. */
  notificationId: string;
  numbers: readonly number[];
  of: ArrivalKind;
};

/** What SES reports about an email that it had accepted. */
export type EmailReport = AcceptedEmail & {
  /** When it is sent, ms since the start. */
  atMs: number;
  /** When it is sent once more. */
  repeatedMs?: number;
  kind: 'Bounce' | 'Complaint' | 'Reject';
  /** Whether it is no bounce for now. The technical contacts are notified of it. */
  isPermanent: boolean;
};

/** That a recipient's server accepted an email, or not yet. `timestampMs` is when, ms since the epoch. */
export type EmailProgress = AcceptedEmail & {
  kind: 'confirmed' | 'delayed';
  timestampMs: number;
  /** When SES reports it, once or twice, ms since the start. */
  sentMs: readonly number[];
};

export type EmailReportOptions = {
  /** Returns the probability that an accepted email of a tenant is reported, from 0 to 1. */
  rateOf: (tenant: string) => number;
  /** Returns what happens to all emails to a recipient now. */
  behaviorOf: (to: string) => Behavior;
  random: Random;
  subtypeRandom: Random;
  progressRandom: Random;
  isActive: () => boolean;
  nowMs: () => number;
  /** When the scenario started, ms since the epoch. */
  startMs: () => number;
  publish: (event: EmailEvent, afterMs: number) => void;
};

/** A report may precede the record of its email. */
const MAX_DELAY_MS = 300_000;

/** A person may complain two days later. */
const LATE_MS = 2 * 86_400_000;

/**
 * SES after it accepted emails: some bounce, are rejected, or are reported as spam, the others are delivered. Some are
 * delayed before. Events come late, in any order, and some twice.
 */
export const createEmailReports = (options: EmailReportOptions) => {
  const { rateOf, behaviorOf, random, subtypeRandom, progressRandom } = options;
  const { isActive, nowMs, startMs, publish } = options;
  const reports: EmailReport[] = [];
  const progress: EmailProgress[] = [];
  const accepted: AcceptedEmail[] = [];
  let endsMs = 0;

  const send = (event: EmailEvent, afterMs: number): void => {
    endsMs = Math.max(endsMs, nowMs() + afterMs);
    publish(event, afterMs);
  };

  const sendProgress = (
    kind: EmailProgress['kind'],
    create: (timestamp: string) => EmailEvent,
    email: AcceptedEmail,
    afterMs: number,
  ): void => {
    const timestampMs = startMs() + nowMs() + afterMs;
    const event = create(new Date(timestampMs).toISOString());
    const lateMs = (): number => afterMs + (progressRandom() < 0.5 ? 0 : integer(0, MAX_DELAY_MS, progressRandom));
    const delaysMs = [lateMs(), ...(progressRandom() < 0.2 ? [lateMs()] : [])];
    progress.push({ ...email, kind, timestampMs, sentMs: delaysMs.map((delayMs) => nowMs() + delayMs) });
    for (const delayMs of delaysMs) send(event, delayMs);
  };

  /** SES also reports addresses on its suppression lists, that of an account as a complaint. */
  const permanentBounce = (mail: Mail, timestamp: string): EmailEvent => {
    if (subtypeRandom() < 0.2) return emailEvents.complaint(mail, timestamp, 'OnAccountSuppressionList');
    const subtypes = ['General', 'Suppressed', 'OnAccountSuppressionList'];
    return emailEvents.bounce(mail, timestamp, 'Permanent', subtypes[integer(0, 2, subtypeRandom)]);
  };

  return {
    accepted,
    reports,
    progress,
    isIdle: (): boolean => endsMs < nowMs(),

    onAccepted(call: AwsCall, address: string, arrival: Pick<Arrival, 'to' | 'numbers'> & { of: ArrivalKind }): void {
      const mail = mailOf(call, [address], startMs() + nowMs());
      const [notificationId = ''] = mail.tags.notification ?? [];
      const tenant = Buffer.from(mail.tags.tenant?.[0] ?? '', 'base64url').toString();
      const email = { ...arrival, notificationId, tenant, acceptedMs: nowMs() };
      accepted.push(email);
      const rate = rateOf(tenant);
      const isReported = rate > 0 && isActive() && random() < rate;
      const reported = isReported
        ? (['Bounce', 'Bounce', 'Complaint', 'Reject'] as const)[integer(0, 3, random)]
        : undefined;
      const behavior = behaviorOf(email.to);
      const always = { 'accept-and-bounce': 'Bounce', 'accept-and-complain': 'Complaint' } as const;
      const certain =
        behavior === 'accept-and-bounce' || behavior === 'accept-and-complain' ? always[behavior] : undefined;
      const kind = certain ?? reported;
      const acceptedMs = integer(0, 2_000, progressRandom);
      if (progressRandom() < 0.1)
        sendProgress('delayed', (timestamp) => emailEvents.delay(mail, timestamp), email, acceptedMs);
      // A server can accept an email that then bounces.
      if (kind === undefined || kind === 'Complaint' || (kind === 'Bounce' && progressRandom() < 0.2))
        sendProgress('confirmed', (timestamp) => emailEvents.delivery(mail, timestamp), email, acceptedMs);
      if (kind === undefined) return;
      const isPermanent = kind !== 'Bounce' || certain !== undefined || random() < 0.7;
      const lateMs = certain === 'Complaint' ? LATE_MS : 0;
      const delayMs = lateMs + (random() < 0.3 ? 0 : integer(0, MAX_DELAY_MS, random));
      const repeatedMs = random() < 0.2 ? delayMs + integer(0, MAX_DELAY_MS, random) : undefined;
      const atMs = nowMs() + delayMs;
      reports.push({
        ...email,
        atMs,
        ...(repeatedMs !== undefined && { repeatedMs: nowMs() + repeatedMs }),
        kind,
        isPermanent,
      });
      const timestamp = new Date(startMs() + nowMs() + delayMs).toISOString();
      const event = {
        Bounce: () =>
          isPermanent ? permanentBounce(mail, timestamp) : emailEvents.bounce(mail, timestamp, 'Transient'),
        Complaint: () => emailEvents.complaint(mail, timestamp),
        Reject: () => emailEvents.reject(mail),
      }[kind]();
      send(event, delayMs);
      if (repeatedMs !== undefined) send(event, repeatedMs);
    },
  };
};
