import { errorTrace, logger } from '../../adapters/logger.ts';
import type { NotificationTypeId } from '../../contracts/notification-types.ts';
import { type FailureReason, type MessageOutcome, stopReasons, type WithheldReason } from '../../contracts/outcomes.ts';
import type { DeliveryResult, Failure } from '../../domain/attempt-outcome.ts';
import { bodyForRound } from '../../domain/delivery-message.ts';
import { destinationField } from '../../domain/delivery-metrics.ts';
import {
  type DeliveryRecord,
  withFailure,
  withNextAttempt,
  withReportedAlert,
  withStatus,
} from '../../domain/delivery-record.ts';
import { isHeartbeat } from '../../domain/heartbeat.ts';
import type { DeliveryTarget } from '../../domain/notification.ts';
import { internalErrorDelayMs, retryDelayMs } from '../../domain/retry-schedule.ts';
import type { Summary } from '../../domain/summary.ts';
import { type DeliveryJob, idsOf, isNotice, persist, type SenderDependencies } from './delivery-job.ts';
import type { HeldLock } from './held-lock.ts';
import { sendCopy } from './requeue.ts';

type LoggedFailure = Pick<Failure, 'reason' | 'cause' | 'status' | 'code'>;

/** Decides about a claimed delivery before it is sent. Returns undefined if it does not apply. */
export type Decision = (delivery: ClaimedDelivery) => DeliveryResult | undefined | Promise<DeliveryResult | undefined>;

/** The reasons for which a notice has no recipient. It is cancelled, and its copies to others are sent. */
const noRecipientReasons: readonly FailureReason[] = ['no_contacts', 'email_off', ...stopReasons];

/** A delivery that this worker has claimed, and the ways in which it ends. All of its writes are conditional on the claim. */
export class ClaimedDelivery {
  readonly job: DeliveryJob;
  readonly claimed: DeliveryRecord;
  /** The lock of its incident, if it is ordered. */
  readonly lock: HeldLock | undefined;
  /** The record, with the attempt of this worker as soon as it was made. */
  record: DeliveryRecord;
  /** What the notification is now; undefined if it was deleted. */
  notification: DeliveryTarget | undefined;
  isShadowed = false;
  summary: Summary | undefined;
  /** The record as last written; undefined before the first write. */
  #written: DeliveryRecord | undefined;
  readonly #sender: SenderDependencies;

  constructor(job: DeliveryJob, claimed: DeliveryRecord, lock: HeldLock | undefined, sender: SenderDependencies) {
    this.job = job;
    this.claimed = claimed;
    this.lock = lock;
    this.record = claimed;
    this.#sender = sender;
  }

  /** The notification that the alert is sent to. @throws Error if it was deleted */
  get target(): DeliveryTarget {
    if (!this.notification) throw new Error('The notification was deleted.');
    return this.notification;
  }

  get nowMs(): number {
    return this.#sender.clock();
  }

  get isSummary(): boolean {
    return this.job.body.notice?.kind === 'summary';
  }

  /** Changes the record if the claim still holds. It then says what reports need: a notice causes none. */
  async write(next: DeliveryRecord): Promise<void> {
    const { body } = this.job;
    const described = isNotice(body) ? next : withReportedAlert(next, body, this.#sender.retryDelayScale);
    this.#written = (await this.#sender.deliveries.update(this.claimed, described)) ?? described;
  }

  /** Repeats `write` until it succeeds or no time is left. */
  persist(next: DeliveryRecord): Promise<void> {
    return persist(this.job, () => this.write(next));
  }

  /** Whether the attempt reached recipients that neither the claimed nor the written record lists. */
  get hasUnrecordedRecipients(): boolean {
    const recorded = (this.#written ?? this.claimed).reached_recipient_hashes ?? [];
    return this.record.reached_recipient_hashes?.some((hash) => !recorded.includes(hash)) === true;
  }

  /** Releases the claim of a delivery that was not sent. */
  release(): Promise<void> {
    return this.write(withNextAttempt(this.record, this.record.next_attempt_at_ms));
  }

  async markBounced(): Promise<void> {
    if (this.#written) await this.#sender.deliveries.markBounced(this.#written, this.nowMs);
  }

  async sendAgain(): Promise<DeliveryResult> {
    await this.release();
    await sendCopy(this.#sender, this.job, 0);
    return { kind: 'not_due' };
  }

  /** Releases the claim, and sends the message to the queue of the notification's new type. */
  async forward(type: NotificationTypeId): Promise<DeliveryResult> {
    await this.release();
    await sendCopy(this.#sender, this.job, 0, { url: this.#sender.queueUrls[type] });
    return { kind: 'forwarded' };
  }

  async cancel(withheld?: WithheldReason): Promise<DeliveryResult> {
    const changes = withheld ? { withheld } : { last_reason: undefined };
    await this.write(withStatus(this.record, 'cancelled', this.nowMs, changes));
    await this.markBounced();
    return { kind: 'cancelled' };
  }

  /** Acknowledges the message even if the delivery cannot be recorded: returning it could send the alert twice. */
  async recordDelivered(): Promise<DeliveryResult> {
    try {
      await this.persist(withStatus(this.record, 'delivered', this.nowMs));
    } catch (error) {
      logger.error('delivered but not recorded', { ...idsOf(this.job), ...errorTrace(error) });
      const isInternalError = !this.#sender.isTenantThrottled(error, this.job.body.event.tenant_id);
      return { kind: 'unrecorded', isInternalError };
    }
    await this.markBounced();
    return { kind: 'delivered' };
  }

  /** Records a failed attempt, and schedules the next one or dead-letters the delivery. */
  recordFailed(failure: Failure): Promise<DeliveryResult> {
    if (isHeartbeat(this.job.body.event)) return this.#endHeartbeat(failure);
    const waitMs = retryDelayMs(this.record.attempt_count, failure, this.#sender.retryDelayScale);
    return waitMs === undefined ? this.deadLetter(failure) : this.#scheduleRetry(failure, waitMs);
  }

  /** Ends the delivery of a heartbeat, because the receiver reports missing ones (docs/decisions/monitoring.md#heartbeat). */
  async #endHeartbeat({ reason, status, code }: Failure): Promise<DeliveryResult> {
    logger.error('heartbeat not delivered', { ...idsOf(this.job), reason, status, code });
    await this.write(withStatus(this.record, 'failed', this.nowMs));
    return { kind: 'heartbeat' };
  }

  /**
   * Sends a new message even if the claim is lost (or the SDK repeated an applied write): its claim determines whether
   * an attempt is due (docs/decisions/deliveries.md#retries-are-new-messages).
   */
  async #scheduleRetry(failure: Failure, waitMs: number): Promise<DeliveryResult> {
    const { job, record } = this;
    await this.persist(withNextAttempt(record, this.nowMs + waitMs));
    await sendCopy(this.#sender, job, waitMs, { record });
    this.#logFailure('retried', failure);
    return { kind: 'retried' };
  }

  /**
   * Ends a round: store the message for the tenant (docs/decisions/deliveries.md#failed-messages), send the dead
   * letter, update the record, in this order, so that a crash loses nothing. Message and record have the same time of
   * failure, which marks the message as current. Only the dead letter and the stored message have the number of the
   * next round (docs/decisions/deliveries.md#dead-letters).
   */
  async deadLetter(failure: LoggedFailure): Promise<DeliveryResult> {
    const { job, record } = this;
    const { queues, failedMessages, deadLetterQueueUrl } = this.#sender;
    // If a later step fails, the record must already include this attempt and the recipients it reached. Its message is
    // then received again, which must not count as overdue since the attempt: that would start a new round.
    // The cause is recorded with the end, or when the dead letter cannot be stored, so that the stream shows one failure.
    const { last_cause, last_reason } = this.claimed;
    await this.persist({ ...record, last_cause, last_reason, next_attempt_at_ms: this.nowMs });
    if (isNotice(job.body) && noRecipientReasons.includes(failure.reason)) {
      await this.write(withStatus(record, 'cancelled', this.nowMs, { last_reason: failure.reason }));
      return { kind: 'cancelled' };
    }
    const [round, failedAtMs] = [record.round + 1, this.nowMs];
    const letter = { body: bodyForRound(job.body, { ...record, round }), messageGroupId: job.body.event.tenant_id };
    const failed = withFailure({ ...record, last_cause: failure.cause }, failure.reason, failedAtMs);
    try {
      if (!isNotice(job.body)) {
        const message = { recordKey: record, failedAtMs, body: letter.body, round };
        await persist(job, () => failedMessages.put(message));
      }
      const reason = { ...failure, attemptCount: record.attempt_count };
      await queues.sendToDeadLetterQueue(deadLetterQueueUrl, letter, reason);
    } catch (error) {
      await this.#releaseFailed(failed);
      throw error;
    }
    await this.persist(failed);
    this.#logFailure('dead_lettered', failure);
    return { kind: 'dead_lettered', cause: failure.cause };
  }

  /** Until its message returns, the record says that the alert fails, so that the event is escalated. */
  async #releaseFailed({ last_cause, last_reason }: DeliveryRecord): Promise<void> {
    const receiveCount = Number(this.job.message.attributes.ApproximateReceiveCount);
    const next_attempt_at_ms = this.nowMs + internalErrorDelayMs(receiveCount, this.#sender.retryDelayScale);
    this.record = { ...this.record, last_cause, last_reason, next_attempt_at_ms };
    await this.release().catch(() => undefined);
  }

  /** Never the destination's response (docs/decisions/monitoring.md#what-is-logged). */
  #logFailure(outcome: MessageOutcome, { reason, cause, status, code }: LoggedFailure): void {
    const { attempt_count } = this.record;
    const destination = destinationField(reason);
    const ids = idsOf(this.job);
    logger.warn('delivery failed', { outcome, ...ids, reason, cause, destination, status, code, attempt_count });
  }
}
