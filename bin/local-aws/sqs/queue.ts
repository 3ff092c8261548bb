import { randomUUID } from 'node:crypto';
import type { Clock } from '../clock.ts';
import { SqsError } from './errors.ts';
import { ageOfOldestMessageSeconds } from './metrics.ts';
import type { NewMessage, QueuedMessage, Receipt } from './queued-message.ts';
import { RoundRobin } from './round-robin.ts';

export type QueueSettings = {
  name: string;
  arn: string;
  url: string;
  visibilitySeconds: number;
  retentionSeconds: number;
};

/** A redrive policy: after `maxReceiveCount` receives, a message moves to `target` instead of being received again. */
export type Redrive = {
  target: Queue;
  maxReceiveCount: number;
};

export type ReceiveRequest = {
  maxMessages: number;
  visibilitySeconds?: number | undefined;
  /** How long to wait for a message; `Infinity` for no limit. */
  waitSeconds?: number | undefined;
  /** Ends the wait when the caller disconnects, so that no message is lost in flight. */
  signal?: AbortSignal | undefined;
};

/** Faults to inject: `duplicateReceives` is the probability (0 to 1) that a received message stays visible. */
export type FaultInjection = {
  duplicateReceives: number;
  /** Decides about a message. */
  random: (messageId: string) => number;
};

type Waiter = {
  request: ReceiveRequest;
  resolve: (receipts: Receipt[]) => void;
};

/**
 * A standard queue: at-least-once delivery, visibility timeouts, redrive, delays, retention and fair message groups.
 */
export class Queue {
  readonly settings: QueueSettings;
  redrive: Redrive | undefined;
  readonly #clock: Clock;
  readonly #faultInjection: FaultInjection;
  readonly #messages = new Map<string, QueuedMessage>();
  readonly #visible = new RoundRobin();
  readonly #counts = { delayed: 0, visible: 0, inFlight: 0, removed: 0 };
  #waiters: Waiter[] = [];
  #isServingScheduled = false;

  constructor(settings: QueueSettings, clock: Clock, faultInjection: FaultInjection) {
    this.settings = settings;
    this.#clock = clock;
    this.#faultInjection = faultInjection;
  }

  get counts(): Readonly<{ visible: number; delayed: number; inFlight: number }> {
    return this.#counts;
  }

  /** Returns `ApproximateAgeOfOldestMessage` in seconds, or undefined if CloudWatch reports no value. */
  ageOfOldestMessageSeconds(): number | undefined {
    return ageOfOldestMessageSeconds(this.#messages.values(), this.#clock.now());
  }

  /** The number of long polls that are waiting for a message. */
  get pendingReceives(): number {
    return this.#waiters.length;
  }

  /** All messages in the queue, in order of arrival. */
  get messages(): QueuedMessage[] {
    return [...this.#messages.values()];
  }

  /** Sends a message and returns its ID. */
  send(message: NewMessage, delaySeconds = 0): string {
    const { body, attributes, groupId, senderId } = message;
    const queued: QueuedMessage = {
      body,
      attributes,
      groupId,
      senderId,
      id: randomUUID(),
      sentAtMs: this.#clock.now(),
      arrivedAtMs: this.#clock.now(),
      receiveCount: 0,
      receiveCountAtArrival: 0,
      state: 'removed',
    };
    this.add(queued, delaySeconds);
    return queued.id;
  }

  /** Adds a message and keeps its ID, age and receive count. */
  add(message: QueuedMessage, delaySeconds = 0): void {
    this.#messages.set(message.id, message);
    const ageMs = this.#clock.now() - message.sentAtMs;
    message.cancelExpiry = this.#clock.after(Math.max(0, this.settings.retentionSeconds * 1000 - ageMs), () =>
      this.#remove(message),
    );
    if (delaySeconds > 0) this.#hide(message, 'delayed', delaySeconds);
    else this.#show(message);
  }

  /**
   * Returns up to `maxMessages` messages: immediately if any are visible, otherwise when one becomes visible or the
   * wait ends.
   */
  async receive(request: ReceiveRequest): Promise<Receipt[]> {
    const receipts = this.#receiveVisible(request);
    const { waitSeconds = 0 } = request;
    if (receipts.length > 0 || waitSeconds === 0 || request.signal?.aborted) return receipts;
    return new Promise((resolve) => {
      const stopWaiting = () => {
        this.#waiters = this.#waiters.filter((other) => other !== waiter);
        waiter.resolve([]);
      };
      const cancel = Number.isFinite(waitSeconds) ? this.#clock.after(waitSeconds * 1000, stopWaiting) : () => {};
      const waiter: Waiter = {
        request,
        resolve(received) {
          cancel();
          request.signal?.removeEventListener('abort', stopWaiting);
          resolve(received);
        },
      };
      this.#waiters.push(waiter);
      request.signal?.addEventListener('abort', stopWaiting, { once: true });
    });
  }

  /**
   * Deletes a message. As in SQS, this succeeds if the message is already deleted, and has no effect if the message was
   * received again since the handle was issued.
   */
  delete(handle: string): void {
    const message = this.#messageOf(handle);
    if (message) this.#remove(message);
  }

  /** Makes an in-flight message visible again after `seconds`. Throws an `SqsError` if it is not in flight. */
  changeVisibility(handle: string, seconds: number): void {
    const message = this.#messageOf(handle);
    if (!message) {
      throw new SqsError(
        'InvalidParameterValueException',
        'Value for parameter ReceiptHandle is invalid. Reason: Message does not exist or is not available for visibility timeout change.',
      );
    }
    if (message.state !== 'inFlight') {
      throw new SqsError('MessageNotInflight', 'The message referred to is not in flight.');
    }
    message.invocation = undefined;
    if (seconds === 0) this.#show(message);
    else this.#hide(message, 'inFlight', seconds);
  }

  /**
   * Defers the end of visibility timeouts while an invocation processes the messages, until the returned function is
   * called. AWS recommends a visibility timeout of six times the function timeout, so only a clock moved by a test can
   * end it earlier. Changing the visibility of a message ends the deferral for that message.
   */
  deferVisibilityTimeouts(receipts: readonly Receipt[]): () => void {
    const deferred = receipts.map(({ message }) => {
      const invocation = { isOverdue: false };
      message.invocation = invocation;
      return { message, invocation };
    });
    return () => {
      for (const { message, invocation } of deferred) {
        if (message.invocation !== invocation) continue;
        message.invocation = undefined;
        if (invocation.isOverdue && message.state === 'inFlight') this.#show(message);
      }
    };
  }

  purge(): void {
    for (const message of this.messages) this.#remove(message);
  }

  #receiveVisible({ maxMessages, visibilitySeconds = this.settings.visibilitySeconds }: ReceiveRequest): Receipt[] {
    const receipts: Receipt[] = [];
    while (receipts.length < maxMessages) {
      const message = this.#visible.next();
      if (!message) break;
      if (this.redrive && message.receiveCount >= this.redrive.maxReceiveCount)
        this.#deadLetter(message, this.redrive.target);
      else receipts.push(this.#receiveOne(message, visibilitySeconds));
    }
    return receipts;
  }

  #receiveOne(message: QueuedMessage, visibilitySeconds: number): Receipt {
    message.receiveCount += 1;
    message.firstReceivedAtMs ??= this.#clock.now();
    const staysVisible =
      this.#faultInjection.duplicateReceives > 0 &&
      this.#faultInjection.random(message.id) < this.#faultInjection.duplicateReceives;
    if (visibilitySeconds === 0 || staysVisible) this.#show(message);
    else this.#hide(message, 'inFlight', visibilitySeconds);
    return { message, handle: this.#handle(message) };
  }

  #deadLetter(message: QueuedMessage, target: Queue): void {
    this.#remove(message);
    target.add({
      ...message,
      deadLetterQueueSourceArn: this.settings.arn,
      arrivedAtMs: this.#clock.now(),
      receiveCountAtArrival: message.receiveCount,
    });
  }

  #handle(message: QueuedMessage): string {
    return Buffer.from(`${this.settings.name}/${message.id}/${message.receiveCount}`).toString('base64');
  }

  /** Returns the message of its most recent receipt handle. */
  #messageOf(handle: string): QueuedMessage | undefined {
    const [queue, id = '', receiveCount] = Buffer.from(handle, 'base64').toString().split('/');
    if (queue !== this.settings.name || !receiveCount) {
      throw new SqsError('ReceiptHandleIsInvalid', 'The input receipt handle is invalid.');
    }
    const message = this.#messages.get(id);
    return message?.receiveCount === Number(receiveCount) ? message : undefined;
  }

  #show(message: QueuedMessage): void {
    this.#setState(message, 'visible');
    this.#visible.add(message);
    this.#scheduleServing();
  }

  #hide(message: QueuedMessage, state: 'delayed' | 'inFlight', seconds: number): void {
    this.#setState(message, state);
    message.visibleAtMs = this.#clock.now() + seconds * 1000;
    message.cancelDue = this.#clock.after(seconds * 1000, () => {
      if (message.invocation) message.invocation.isOverdue = true;
      else this.#show(message);
    });
  }

  #remove(message: QueuedMessage): void {
    this.#setState(message, 'removed');
    message.cancelExpiry?.();
    this.#messages.delete(message.id);
  }

  #setState(message: QueuedMessage, state: QueuedMessage['state']): void {
    message.cancelDue?.();
    this.#counts[message.state] -= 1;
    this.#counts[state] += 1;
    if (message.state === 'visible') this.#visible.remove(message);
    message.state = state;
  }

  /** Serves waiting receives in a microtask, so that messages sent in one batch are received together. */
  #scheduleServing(): void {
    if (this.#isServingScheduled || this.#waiters.length === 0) return;
    this.#isServingScheduled = true;
    queueMicrotask(() => {
      this.#isServingScheduled = false;
      while (this.#waiters.length > 0 && this.#counts.visible > 0) this.#serveFirst();
    });
  }

  #serveFirst(): void {
    const [first, ...others] = this.#waiters;
    if (!first) return;
    const receipts = this.#receiveVisible(first.request);
    if (receipts.length === 0) return;
    this.#waiters = others;
    first.resolve(receipts);
  }
}
