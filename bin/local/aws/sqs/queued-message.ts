import type { Cancel } from '../clock.ts';
import type { NewMessage } from './message.ts';

/** A message that a queue holds. Times are in milliseconds since the epoch. */
export interface QueuedMessage extends NewMessage {
  readonly id: string;
  readonly sentAt: number;
  /** When the queue that holds it got it: on a dead-letter queue, when it was moved there. */
  arrivedAt: number;
  /** How often it had been received when the queue that holds it got it. */
  receivesAtArrival: number;
  firstReceivedAt?: number;
  receives: number;
  /** On a dead-letter queue: the ARN of the queue that the message died on. */
  deadLetterQueueSourceArn?: string;
  /**
   * Set while an invocation has the message by its latest receive: whether its visibility timeout has ended meanwhile.
   */
  invocation?: { isOverdue: boolean } | undefined;
  state: 'delayed' | 'visible' | 'inFlight' | 'gone';
  cancelDue?: Cancel;
  cancelExpiry?: Cancel;
}

/** One receive of a message: the handle is good for this receive only. */
export interface Receipt {
  message: QueuedMessage;
  handle: string;
}
