import type { FailureCause, MessageOutcome } from '../contracts/outcomes.ts';
import type { AttemptOutcome } from './attempt-outcome.ts';

/** The result of processing a message on a sender's queue. */
export type DeliveryResult = {
  /** What became of the message. Heartbeats are neither counted nor reported. */
  kind: MessageOutcome | 'heartbeat';
  /** The outcome of the attempt, if there was one. */
  attempt?: AttemptOutcome;
  /** When the first attempt of the delivery started, ms since the epoch, if it is this one, and nothing postponed it. */
  firstAttemptAtMs?: number | undefined;
  /** The cause, if the message was dead-lettered. */
  cause?: FailureCause;
  /** True if the event was superseded although SQS accepted it more than 60 s after the newer one. */
  hasOlderTimestamp?: boolean;
  /** True if another message of the same event, or another event with its ID, made the delivery. */
  isRepeated?: boolean;
  /**
   * True if the message stays on its queue, with its visibility timeout already set. All other messages are
   * acknowledged.
   */
  isReturned?: true;
  /** Whether it counts as an internal error: by default if that is its kind. */
  isInternalError?: boolean;
};
