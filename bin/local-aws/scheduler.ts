import { randomBytes } from 'node:crypto';
import type { AwsCall } from './aws-service.ts';
import type { Cancel, Clock } from './clock.ts';

export type ScheduleSettings = {
  name: string;
  isEnabled: boolean;
  periodMs: number;
  /** The signing name of the service that it calls, such as `sqs`. */
  service: string;
  action: string;
  /** The path of a REST API. Default: `/` */
  path?: string;
  /** The JSON body of each call, in which context attributes are replaced. */
  input: string;
  /** The name, and ID, of the role that makes the calls. */
  role: string;
};

export type SchedulesOptions = {
  schedules: readonly ScheduleSettings[];
  clock: Clock;
  /** Makes a call. It must not reject. */
  call: (call: AwsCall) => Promise<unknown>;
};

/** Returns a time as EventBridge Scheduler writes it: without milliseconds. */
const scheduledTime = (timeMs: number): string => new Date(timeMs).toISOString().replace(/\.\d{3}/, '');

/** Replaces the context attributes (https://docs.aws.amazon.com/scheduler/latest/UserGuide/managing-schedule-context-attributes.html). */
const withContext = ({ input }: ScheduleSettings, dueMs: number): string =>
  input
    .replaceAll('<aws.scheduler.scheduled-time>', scheduledTime(dueMs))
    .replaceAll('<aws.scheduler.execution-id>', randomBytes(8).toString('hex'));

/** The schedules of EventBridge Scheduler. Each makes its first call at once, and further ones until it is disabled. */
export class Schedules {
  readonly #options: SchedulesOptions;
  readonly #running = new Map<string, Cancel>();

  constructor(options: SchedulesOptions) {
    this.#options = options;
    for (const schedule of options.schedules) if (schedule.isEnabled) this.#run(schedule, options.clock.now());
  }

  /** Disables a schedule until the returned function is called. @throws Error if it is not enabled */
  disable(name: string): () => void {
    const schedule = this.#options.schedules.find((each) => each.name === name);
    const cancel = this.#running.get(name);
    if (!schedule || !cancel) throw new Error(`There is no enabled schedule ${name}.`);
    cancel();
    this.#running.delete(name);
    return () => this.#run(schedule, this.#options.clock.now());
  }

  stop(): void {
    for (const cancel of this.#running.values()) cancel();
    this.#running.clear();
  }

  #run(schedule: ScheduleSettings, dueMs: number): void {
    const { clock, call } = this.#options;
    const cancel = clock.after(dueMs - clock.now(), () => {
      this.#run(schedule, dueMs + schedule.periodMs);
      void call({
        service: schedule.service,
        action: schedule.action,
        caller: `${schedule.role}:scheduler`,
        path: schedule.path ?? '/',
        headers: {},
        body: Buffer.from(withContext(schedule, dueMs)),
        signal: new AbortController().signal,
      });
    });
    this.#running.set(schedule.name, cancel);
  }
}
