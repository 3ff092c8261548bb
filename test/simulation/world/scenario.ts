import { type NotificationTypeId, notificationTypes } from '../../../shared/contracts/notification-types.ts';
import type { escalationModes } from '../../../shared/contracts/outcomes.ts';

/** The start of links to alarms. */
export const CONSOLE_URL = 'https://console.test';

/** Clocks of functions are up to 2 s off. */
export const MAX_SKEW_MS = 2_000;

export type State = 'OK' | 'WARNING' | 'CRITICAL';

/** How a destination answers. What the words mean for each type is in `receivers.ts`. */
export type Behavior =
  | 'accept'
  | 'accept-slowly'
  | 'accept-without-answer'
  | 'accept-and-close'
  /** SES accepts an email, which then bounces, or about which the recipient complains two days later. */
  | 'accept-and-bounce'
  | 'accept-and-complain'
  | 'fail'
  | 'hang'
  | 'close'
  | 'throttle'
  | 'reject'
  | 'redirect';

/** A destination answers so from this time on, ms since the start of the scenario. */
export type Phase = { fromMs: number; behavior: Behavior };

/** A notification. `key` identifies it in what its destination receives. */
export type PlannedNotification = {
  index: number;
  key: string;
  type: NotificationTypeId;
  /** The host of a webhook. By default, that of all receivers, or one of its own if it hangs from the start. */
  host?: string;
  /** True of a webhook that gets no older state after a newer one. */
  isOrdered?: true;
  /** True of a webhook whose `webhook_request` has a body. */
  hasOwnBody?: true;
  /** The key of the notification whose mailbox the address of this one also spells. */
  mailbox?: string;
  /** Sorted by time. The first starts at 0. */
  phases: readonly Phase[];
};

/** The phases of a destination that accepts. */
export const accepting: readonly Phase[] = [{ fromMs: 0, behavior: 'accept' }];

/** Returns the phases of a destination that answers so until a time, ms since the start, and accepts then. */
export const until = (untilMs: number, behavior: Behavior): Phase[] => [
  { fromMs: 0, behavior },
  { fromMs: untilMs, behavior: 'accept' },
];

/** Returns a notification, whose destination accepts by default. */
export const notificationOf = (
  index: number,
  type: NotificationTypeId,
  phases: readonly Phase[] = accepting,
): PlannedNotification => ({ index, key: `d${index}`, type, phases });

export type PlannedContact = { address: string; phases: readonly Phase[] };

/** Settings of an account, as `PUT /account` takes them. */
export type Summaries = { email_after: number; sms_after: number; window_minutes: number };

/** A tenant. An attacker sends floods to destinations that hang; a quiet one has destinations that accept at once. */
export type PlannedTenant = {
  name: string;
  kind: 'quiet' | 'ordinary' | 'attacker';
  contacts: readonly PlannedContact[];
  summaries: Summaries | undefined;
  limits: { emailsPerTenantPerDay?: number; smsPerTenantPerDay?: number; managedPerTenantPerDay?: number };
  notifications: readonly PlannedNotification[];
  /** The notification to which escalations go, or none. */
  fallback: PlannedNotification | undefined;
  /** The probability that SES reports a problem of an email. Default: that of the scenario, or 0 of a quiet tenant */
  emailReports?: number;
};

/** Returns whether a destination gets no older event of an incident after a newer one. */
export const isInOrder = ({ type, isOrdered }: Pick<PlannedNotification, 'type' | 'isOrdered'>): boolean =>
  notificationTypes[type].hasIncidents || isOrdered === true;

/** Returns the time zone of a tenant's emails: quiet tenants have the default. */
export const timeZoneOf = ({ kind }: PlannedTenant): string => (kind === 'quiet' ? 'UTC' : 'Asia/Kathmandu');

/** Returns the notifications of a tenant, with the one to which escalations go. */
export const notificationsOf = ({ notifications, fallback }: PlannedTenant): PlannedNotification[] => [
  ...notifications,
  ...(fallback ? [fallback] : []),
];

/** An alarm event. Its number is in everything that a destination receives. */
export type PlannedEvent = {
  kind: 'event';
  atMs: number;
  tenant: string;
  number: number;
  alarm: string;
  state: State;
  /** Its time by the producer's clock, ms since the start of the scenario. */
  timeMs: number;
  /** True if it does not tell its time. */
  hasNoTime?: true;
  notifications: readonly number[];
  /** After how many ms the same event is sent again. */
  repeatsAfterMs: readonly number[];
  /** After how many ms another event with its ID is sent, which names the alarm as altered. */
  alteredAfterMs?: number;
  /** How much larger than necessary it is. */
  paddingBytes?: number;
};

/** What a person does with a notification; `retype` makes it a webhook. */
export type NotificationAction =
  | 'delete'
  | 'relabel'
  | 'redeliver'
  | 'retry-now'
  | 'test'
  | 'reroute'
  | 'retype'
  | 'sign'
  | 'unsign';

/** What a person does through the API. */
export type PersonAction =
  /** A webhook that is rerouted gets another path. One that is signed gets a secret of its own, a new one, or none. */
  | { kind: NotificationAction; atMs: number; tenant: string; notification: number }
  | { kind: 'summaries'; atMs: number; tenant: string; summaries: Summaries | undefined }
  /** Sets the technical contacts of the account, or the notification to which escalations go. */
  | { kind: 'contacts'; atMs: number; tenant: string; addresses: readonly string[] }
  | { kind: 'fallback'; atMs: number; tenant: string; fallback: number | undefined }
  | { kind: 'rotate' | 'token'; atMs: number; tenant: string }
  /** A notification is created with an idempotency key, twice. */
  | { kind: 'create'; atMs: number; tenant: string }
  /** Of a token that issued another one, which is also revoked if `isSince`. */
  | { kind: 'revoke'; atMs: number; tenant: string; isSince?: true }
  /** The notification is muted for this time; 0 ends that. */
  | { kind: 'mute'; atMs: number; tenant: string; notification: number; lengthMs: number }
  /** A recipient of emails, as in `Arrival`, stops those of the tenant by the link in the newest one, or resumes them. */
  | { kind: 'opt-out' | 'undo-opt-out'; atMs: number; tenant: string; to: string };

/** A message that is no valid event. */
export type InvalidEvent = { kind: 'invalid'; atMs: number; tenant: string; body: string };

/** An event with the ID of the summary that a notification will get, from a producer. */
export type OccupyingEvent = {
  kind: 'occupy';
  atMs: number;
  tenant: string;
  notification: number;
  windowMinutes: number;
};

/** What AWS and the operators do. */
export type Operation =
  /** Lambda ends all execution environments that are idle, as after a deployment. */
  | { kind: 'recycle'; atMs: number }
  /** The operators move all dead letters of the senders back to their queues. */
  | { kind: 'redrive'; atMs: number }
  /** The operators turn on shadow mode for a time. */
  | { kind: 'shadow'; atMs: number; tenant: string; lengthMs: number }
  /** The operators change the limits of an account. */
  | { kind: 'limits'; atMs: number; tenant: string; limits: PlannedTenant['limits'] };

/** What happens in a run. The shortest failing prefix of a run is a prefix of its steps. */
export type Step = PlannedEvent | PersonAction | InvalidEvent | OccupyingEvent | Operation;

export const noFaults = {
  kill: 0,
  dynamodbError: 0,
  dynamodbLate: 0,
  dynamodbLost: 0,
  throttledKey: 0,
  conflict: 0,
  sqsError: 0,
  sqsLost: 0,
  sqsPartial: 0,
  sendError: 0,
  sendThrottled: 0,
  sendLost: 0,
  /** Of a second receive at once, or after a message was acknowledged. */
  duplicateReceives: 0,
  slowCall: 0,
  /** Of an outage for one execution environment that starts when a message that it sent was accepted or refused. */
  recordOutage: 0,
};

/** The probability of each fault of a call, from 0 to 1. */
export type FaultRates = typeof noFaults;

/**
 * An operation that fails often in a run, so that the run shows what its failures cause. An outage follows a call that
 * succeeds: the next calls of its execution environment to DynamoDB or to SQS fail for some time.
 */
export type FrequentFault = {
  /** Service and action, as `sqs.SendMessage`. */
  operation: string;
  kind: 'error' | 'slow' | 'lost' | 'late' | 'kill' | 'outage';
  rate: number;
  /** The function whose calls fail. Default: all */
  functionName?: string;
};

/** A time at which each call to an AWS service fails, or is not answered, ms since the start. */
export type Outage = { service: 'dynamodb' | 'sqs'; fromMs: number; untilMs: number; isHanging?: boolean };

/** What happens to the stream of the table Deliveries. */
export type StreamFaults = {
  /** The probability that Lambda passes a batch again after it was processed, from 0 to 1. */
  repeats: number;
  /** The probability that the images of a record cannot be read, from 0 to 1. */
  unreadable: number;
  /** The maximum delay of a batch, ms. */
  maxDelayMs: number;
  /** When no batch is passed, ms since the start. */
  pause: { fromMs: number; untilMs: number } | undefined;
};

export const noStreamFaults: StreamFaults = { repeats: 0, unreadable: 0, maxDelayMs: 0, pause: undefined };

/** A run: what its seed decides in advance. */
export type Scenario = {
  seed: number;
  tenants: readonly PlannedTenant[];
  steps: readonly Step[];
  rates: FaultRates;
  frequentFault: FrequentFault | undefined;
  outages: readonly Outage[];
  /** The probability that an email that SES accepted bounces, is rejected, or is reported as spam, from 0 to 1. */
  emailReports: number;
  /** How many emails, and SMS, AWS accepts per second. Default: no limit */
  sendingRate?: number;
  /** The webhooks whose host resolves to private addresses until the recovery. */
  privateWebhooks: readonly number[];
  maxSkewMs: number;
  /** The maximum number of execution environments of a function. */
  concurrency: number;
  /** The maximum number of concurrent batches of reports. Default: that of the template */
  reporters?: number;
  /** How old the items may be that an eventually consistent read of DynamoDB finds, in ms. */
  replicationLagMs: number;
  stream: StreamFaults;
  /** Whether delivery outcomes are published. */
  hasOutcomes: boolean;
  /** Who gets escalations. Default: contacts and operators */
  escalations?: (typeof escalationModes)[number];
  /** When faults end and all destinations accept, ms since the start. */
  recoveryMs: number;
};

/** Types that AWS sends. */
export const isSentByAws = (type: NotificationTypeId): boolean =>
  type === 'email' || type === 'sms' || type === 'technicalContactsEmail' || type === 'managed';
