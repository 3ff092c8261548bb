import type { FailureCause, MessageOutcome } from '../contracts/outcomes.ts';
import type { AttemptOutcome } from './attempt-outcome.ts';

/** What became of a message on a sender's queue. */
export type DeliveryResult = {
  /** Heartbeats are neither counted nor reported. */
  kind: MessageOutcome | 'heartbeat';
  attempt?: AttemptOutcome;
  /** Ms since the epoch, if it is this attempt, and nothing postponed it. */
  firstAttemptAtMs?: number | undefined;
  /** Of a dead letter. */
  cause?: FailureCause;
  /** Superseded although SQS accepted the event more than 60 s after the newer one. */
  hasOlderTimestamp?: boolean;
  /** Another message of the same event, or another event with its ID, made the delivery. */
  isRepeated?: boolean;
  /** The message stays on its queue, with its visibility timeout already set. All others are acknowledged. */
  isReturned?: true;
  /** By default if that is its kind. */
  isInternalError?: boolean;
};
