import { type DeliveryRecord, isMuted, isShadow } from './delivery-record.ts';
import { isWaiting } from './delivery-status.ts';
import { MINUTE_MS } from './time.ts';

export type RedeliveryCursor = {
  /** When its first request began, ms since the epoch. Later failures are not redelivered. */
  beganAtMs: number;
  /** The position after which it continues: `<time of failure>#<hash>`, or null at the start. */
  after: string | null;
};

export const redeliveryMarker = ({ beganAtMs, after }: RedeliveryCursor): string =>
  [String(beganAtMs).padStart(13, '0'), ...(after === null ? [] : after.split('#'))].join('-');

export const parseRedeliveryMarker = (marker: string): RedeliveryCursor => {
  const [beganAtMs, ...after] = marker.split('-');
  return { beganAtMs: Number(beganAtMs), after: after.length === 0 ? null : after.join('#') };
};

type StoredFailure = { failedAtMs: number; round: number };

/** Otherwise its round has started, or its worker crashed before it recorded the failure. */
export const isCurrentFailure = (record: DeliveryRecord | undefined, { failedAtMs, round }: StoredFailure): boolean =>
  record?.status === 'failed' && record.round + 1 === round && record.updated_at_ms === failedAtMs;

/** Longer than the timeout of a sender and the difference between two clocks. */
const MAX_RECORDING_MS = 5 * MINUTE_MS;

/** The sender that stored the message has ended, so its record can no longer become `failed`. */
export const isSettledFailure = ({ failedAtMs }: StoredFailure, nowMs: number): boolean =>
  nowMs - failedAtMs > MAX_RECORDING_MS;

export const NOTHING_YET = 'Nothing was found yet. Continue with next_marker.';
export const NOTHING_WAITS = 'No delivery waits for a retry.';
export const ALL_REQUESTED = 'A retry of each waiting delivery was requested within the last hour.';
export const CHANGED_MEANWHILE = 'The attempt has just started, or another request has changed the delivery.';

export const notRetried = (record: DeliveryRecord, nowMs: number): string => {
  if (record.status !== 'pending') return `The delivery does not wait for a retry: its status is ${record.status}.`;
  return isWaiting(record, nowMs)
    ? 'A retry of the delivery was requested within the last hour.'
    : 'The attempt is due or in progress.';
};

export const NOTHING_FAILED =
  'No delivery failed since this time, or all were redelivered or failed more than 14 days ago.';

const withheldText = (record: DeliveryRecord): string => {
  if (isShadow(record)) return 'the account was in shadow mode';
  return `the notification was ${isMuted(record) ? 'muted' : 'deleted'}`;
};

export const notRedelivered = (record: DeliveryRecord): string => {
  if (record.notice && record.notice !== 'summary') return 'Notices cannot be redelivered.';
  switch (record.status) {
    case 'pending':
      return 'The delivery has not failed: the service continues to try. To retry it now, add "status": "pending".';
    case 'delivered':
      return 'The alert was delivered.';
    case 'summarized':
      return 'A summary lists the alert: redeliver the summary, if it failed.';
    case 'superseded':
      return 'The destination has a newer alert of the same incident.';
    case 'bounced':
      return 'An email that bounced cannot be redelivered.';
    case 'failed':
      return 'The alert was just redelivered, or failed more than 14 days ago.';
    case 'cancelled':
      return `The alert was not sent, because ${withheldText(record)}.`;
  }
};
