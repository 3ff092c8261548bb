import { randomUUID } from 'node:crypto';
import type { Clock } from '../clock.ts';
import { SqsError } from './errors.ts';
import { FairScheduler } from './fair-scheduler.ts';
import type { NewMessage } from './message.ts';
import { ageOfOldestMessageSeconds, type QueueTotals } from './queue-metrics.ts';
import type { QueuedMessage, Receipt } from './queued-message.ts';

/** What a queue is declared with. Times are in seconds. */
export interface QueueSettings {
  name: string;
  arn: string;
  url: string;
  visibilitySeconds: number;
  delaySeconds: number;
  retentionSeconds: number;
  /** How long a receive waits for a message unless it says otherwise. */
  waitSeconds: number;
  maximumBytes: number;
}

/** Where a message goes that was received `maximumReceives` times and would be received once more. */
export interface Redrive {
  target: Queue;
  maximumReceives: number;
}

/** What a receive asks for; times in seconds. */
export interface ReceiveRequest {
  maximum: number;
  visibilitySeconds?: number | undefined;
  /** How long to wait for a message; `Infinity` for until one comes. */
  waitSeconds?: number | undefined;
  /** Ends a wait early, so that no message goes to someone who has left. */
  signal?: AbortSignal | undefined;
}

/** How a queue misbehaves on purpose: `duplicateReceives` is the probability that a received message stays visible. */
export interface FaultInjection {
  duplicateReceives: number;
  random: () => number;
}

interface Waiter {
  request: ReceiveRequest;
  resolve: (receipts: Receipt[]) => void;
}

/** SQS allows this many messages of a queue in flight, then refuses receives with `OverLimit`. */
const maximumInFlight = 120_000;

/** A standard queue with the semantics of SQS: at-least-once, visibility, redrive, delay, retention, fair groups. */
export class Queue {
  readonly settings: QueueSettings;
  readonly createdAt: number;
  redrive: Redrive | undefined;
  readonly #clock: Clock;
  readonly #mischief: FaultInjection;
  readonly #messages = new Map<string, QueuedMessage>();
  readonly #line = new FairScheduler();
  readonly #counts = { delayed: 0, visible: 0, inFlight: 0, gone: 0 };
  readonly #totals: QueueTotals = { sent: 0, received: 0, deleted: 0, emptyReceives: 0 };
  #waiters: Waiter[] = [];
  #servePlanned = false;

  constructor(settings: QueueSettings, clock: Clock, mischief: FaultInjection) {
    this.settings = settings;
    this.#clock = clock;
    this.#mischief = mischief;
    this.createdAt = clock.now();
  }

  /** How many messages can be received, wait for their delay, and are in flight. */
  get counts(): Readonly<{ visible: number; delayed: number; inFlight: number }> {
    return this.#counts;
  }

  /** Sums since the queue was created: what CloudWatch's `NumberOf...` metrics add up to. */
  get totals(): Readonly<QueueTotals> {
    return this.#totals;
  }

  /** `ApproximateAgeOfOldestMessage` in seconds; undefined while CloudWatch would report no value. */
  ageOfOldestMessageSeconds(): number | undefined {
    return ageOfOldestMessageSeconds(this.#messages.values(), this.#clock.now());
  }

  /** How many receives wait for a message. */
  get waiting(): number {
    return this.#waiters.length;
  }

  /** Every message that the queue holds now, in the order of arrival. */
  get messages(): QueuedMessage[] {
    return [...this.#messages.values()];
  }

  /** Puts a message in; `delaySeconds` overrides the queue's own delay. Answers its id. */
  send(message: NewMessage, delaySeconds = this.settings.delaySeconds): string {
    const { body, attributes, groupId, traceHeader, senderId } = message;
    const held: QueuedMessage = {
      body,
      attributes,
      groupId,
      traceHeader,
      senderId,
      id: randomUUID(),
      sentAt: this.#clock.now(),
      arrivedAt: this.#clock.now(),
      receives: 0,
      receivesAtArrival: 0,
      state: 'gone',
    };
    this.#totals.sent += 1;
    this.adopt(held, delaySeconds);
    return held.id;
  }

  /** Takes over a message as it is, with its id, its age and its count of receives. */
  adopt(message: QueuedMessage, delaySeconds = 0): void {
    this.#messages.set(message.id, message);
    const age = this.#clock.now() - message.sentAt;
    message.cancelExpiry = this.#clock.after(Math.max(0, this.settings.retentionSeconds * 1000 - age), () =>
      this.#remove(message),
    );
    if (delaySeconds > 0) this.#hide(message, 'delayed', delaySeconds);
    else this.#show(message);
  }

  /** Up to `maximum` messages, at once if there are any, else as soon as one comes, else none when the wait is over. */
  async receive(request: ReceiveRequest): Promise<Receipt[]> {
    if (this.#counts.inFlight >= maximumInFlight) {
      throw new SqsError('OverLimit', 'Too many messages in flight.');
    }
    const receipts = await this.#receiveOrWait(request);
    if (receipts.length === 0) this.#totals.emptyReceives += 1;
    return receipts;
  }

  async #receiveOrWait(request: ReceiveRequest): Promise<Receipt[]> {
    const receipts = this.#take(request);
    const waitSeconds = request.waitSeconds ?? this.settings.waitSeconds;
    if (receipts.length > 0 || waitSeconds === 0 || request.signal?.aborted) return receipts;
    return new Promise((resolve) => {
      const leave = () => {
        this.#waiters = this.#waiters.filter((other) => other !== waiter);
        waiter.resolve([]);
      };
      const cancel = Number.isFinite(waitSeconds) ? this.#clock.after(waitSeconds * 1000, leave) : () => {};
      const waiter: Waiter = {
        request,
        resolve(found) {
          cancel();
          request.signal?.removeEventListener('abort', leave);
          resolve(found);
        },
      };
      this.#waiters.push(waiter);
      request.signal?.addEventListener('abort', leave, { once: true });
    });
  }

  /**
   * Ends a message. As in SQS this succeeds for one that is gone already, and does nothing with the handle of an earlier
   * receive once the message was received again.
   */
  delete(handle: string): void {
    const message = this.#latest(handle);
    this.#totals.deleted += 1;
    if (message) this.#remove(message);
  }

  /** Lets a message in flight come back `seconds` from now. */
  changeVisibility(handle: string, seconds: number): void {
    const message = this.#latest(handle);
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
   * Keeps the visibility timeouts of received messages from ending while an invocation has them, until the returned function
   * is called. AWS asks for a visibility timeout of six times the function's, so only a clock that is moved can end it
   * earlier. A message whose visibility was changed meanwhile is no longer kept.
   */
  holdInFlight(receipts: readonly Receipt[]): () => void {
    const held = receipts.map(({ message }) => {
      const invocation = { isOverdue: false };
      message.invocation = invocation;
      return { message, invocation };
    });
    return () => {
      for (const { message, invocation } of held) {
        if (message.invocation !== invocation) continue;
        message.invocation = undefined;
        if (invocation.isOverdue && message.state === 'inFlight') this.#show(message);
      }
    };
  }

  /** Throws every message away. */
  purge(): void {
    for (const message of this.messages) this.#remove(message);
  }

  /** Takes up to `maximum` visible messages out for good: how a move task reads a dead-letter queue. */
  drain(maximum: number): QueuedMessage[] {
    const drained: QueuedMessage[] = [];
    while (drained.length < maximum) {
      const message = this.#line.next();
      if (!message) break;
      this.#remove(message);
      drained.push(message);
    }
    return drained;
  }

  #take({ maximum, visibilitySeconds = this.settings.visibilitySeconds }: ReceiveRequest): Receipt[] {
    const receipts: Receipt[] = [];
    while (receipts.length < maximum) {
      const message = this.#line.next();
      if (!message) break;
      if (this.redrive && message.receives >= this.redrive.maximumReceives) this.#die(message, this.redrive.target);
      else receipts.push(this.#receiveOne(message, visibilitySeconds));
    }
    return receipts;
  }

  #receiveOne(message: QueuedMessage, visibilitySeconds: number): Receipt {
    message.receives += 1;
    this.#totals.received += 1;
    message.firstReceivedAt ??= this.#clock.now();
    const stays = this.#mischief.duplicateReceives > 0 && this.#mischief.random() < this.#mischief.duplicateReceives;
    if (visibilitySeconds === 0 || stays) this.#show(message);
    else this.#hide(message, 'inFlight', visibilitySeconds);
    return { message, handle: this.#handle(message) };
  }

  #die(message: QueuedMessage, target: Queue): void {
    this.#remove(message);
    const arrivedAt = this.#clock.now();
    target.adopt({
      ...message,
      deadLetterQueueSourceArn: this.settings.arn,
      arrivedAt,
      receivesAtArrival: message.receives,
    });
  }

  #handle(message: QueuedMessage): string {
    return Buffer.from(`${this.settings.name}/${message.id}/${message.receives}`).toString('base64');
  }

  #latest(handle: string): QueuedMessage | undefined {
    const [queue, id = '', receive] = Buffer.from(handle, 'base64').toString().split('/');
    if (queue !== this.settings.name || !receive) {
      throw new SqsError('ReceiptHandleIsInvalid', 'The input receipt handle is invalid.');
    }
    const message = this.#messages.get(id);
    return message?.receives === Number(receive) ? message : undefined;
  }

  #show(message: QueuedMessage): void {
    this.#enter(message, 'visible');
    this.#line.join(message);
    this.#planServing();
  }

  #hide(message: QueuedMessage, state: 'delayed' | 'inFlight', seconds: number): void {
    this.#enter(message, state);
    message.cancelDue = this.#clock.after(seconds * 1000, () => {
      if (message.invocation) message.invocation.isOverdue = true;
      else this.#show(message);
    });
  }

  #remove(message: QueuedMessage): void {
    this.#enter(message, 'gone');
    message.cancelExpiry?.();
    this.#messages.delete(message.id);
  }

  #enter(message: QueuedMessage, state: QueuedMessage['state']): void {
    message.cancelDue?.();
    this.#counts[message.state] -= 1;
    this.#counts[state] += 1;
    this.#line.countInFlight(message, Number(state === 'inFlight') - Number(message.state === 'inFlight'));
    message.state = state;
  }

  /** Serves those who wait once per turn of the event loop, so that a batch that was sent is received as a batch. */
  #planServing(): void {
    if (this.#servePlanned || this.#waiters.length === 0) return;
    this.#servePlanned = true;
    queueMicrotask(() => {
      this.#servePlanned = false;
      while (this.#waiters.length > 0 && this.#counts.visible > 0) this.#serveFirst();
    });
  }

  #serveFirst(): void {
    const [first, ...others] = this.#waiters;
    if (!first) return;
    const receipts = this.#take(first.request);
    if (receipts.length === 0) return;
    this.#waiters = others;
    first.resolve(receipts);
  }
}
