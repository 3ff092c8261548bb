import type { AlarmState } from './alarm-event.ts';
import type { AttemptResult, DeliveryReason, DeliveryStatus, FailureReason } from './outcomes.ts';

/** An attempt in a delivery history. */
export type ListedAttempt = {
  /** Start of the attempt, ms since the epoch. */
  timestamp: number;
  result: AttemptResult;
  /** HTTP status of the response; null if there was none. */
  status_code: number | null;
  reason: FailureReason | null;
  duration_ms: number;
};

/** A delivery in a delivery history. All times are ms since the epoch. */
export type ListedDelivery = {
  event_id: string;
  entity_id: string;
  alarm_id: string;
  state: AlarmState;
  status: DeliveryStatus;
  /** Why the delivery has not arrived. */
  reason: DeliveryReason | null;
  /** The time of the event; present if the reason is `older_timestamp`. */
  event_timestamp?: number;
  /** The time of the newer event, which superseded this one; present if the reason is `older_timestamp`. */
  newer_event_timestamp?: number;
  attempts: ListedAttempt[];
  /** Null unless the delivery is pending. */
  next_attempt_at: number | null;
  created_at: number;
  updated_at: number;
};
