import type { DeliveryRepository } from '../../adapters/deliveries/delivery-repository.ts';
import type { Clock } from '../../domain/clock.ts';
import { type DeliveryRecord, withNextAttempt, withReportedAlert } from '../../domain/delivery-record.ts';
import type { DeliveryJob } from './delivery-job.ts';
import { persist } from './persist.ts';

/** A delivery that this worker has claimed. All of its writes are conditional on the claim. */
export class ClaimedDelivery {
  readonly job: DeliveryJob;
  /** The record as it was claimed. */
  readonly claimed: DeliveryRecord;
  /** The record, with the attempt of this worker as soon as it was made. */
  record: DeliveryRecord;
  /** The record as last written; undefined before the first write. */
  #written: DeliveryRecord | undefined;
  readonly #deliveries: Pick<DeliveryRepository, 'update' | 'markBounced'>;
  readonly #clock: Clock;
  readonly #retryDelayScale: number;

  constructor(
    job: DeliveryJob,
    claimed: DeliveryRecord,
    { deliveries, clock, retryDelayScale }: { deliveries: DeliveryRepository; clock: Clock; retryDelayScale: number },
  ) {
    this.job = job;
    this.claimed = claimed;
    this.record = claimed;
    this.#deliveries = deliveries;
    this.#clock = clock;
    this.#retryDelayScale = retryDelayScale;
  }

  /** Changes the record if the claim still holds. It then says what reports need: a notice causes none. */
  async write(next: DeliveryRecord): Promise<void> {
    const { body } = this.job;
    const isNotice = body.notice !== undefined && body.notice.kind !== 'summary';
    const described = isNotice ? next : withReportedAlert(next, body, this.#retryDelayScale);
    this.#written = (await this.#deliveries.update(this.claimed, described)) ?? described;
  }

  /** Changes the record like `write`, and repeats that until it succeeds or no time is left. */
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

  /** Sets the status to `bounced` if every recipient that accepted has bounced. */
  async markBounced(): Promise<void> {
    if (this.#written) await this.#deliveries.markBounced(this.#written, this.#clock());
  }
}
