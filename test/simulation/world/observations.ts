import { z } from 'zod';
import type { ApiResponse } from '../engine/stack.ts';
import type { AcceptedEmail, EmailProgress, EmailReport } from './email-reports.ts';
import type { InjectedFault } from './faults.ts';
import type { DeadLetter } from './operators.ts';
import type { Arrival, ReceivedRequest, Refusal } from './receivers.ts';
import type { PersonAction, Scenario } from './scenario.ts';

/** What a person did: each request with its response, and when it ended, in ms since the start. */
export type PersonRequest = {
  action: PersonAction;
  startedMs: number;
  endedMs: number;
  responses: readonly ApiResponse[];
};

/** A delivery in the history of a notification. */
export const historyEntrySchema = z.object({
  event_id: z.string(),
  alarm_id: z.string(),
  state: z.string(),
  status: z.string(),
  reason: z.string().nullish(),
  summary_id: z.string().nullish(),
  attempts: z.array(
    z.object({
      timestamp: z.number(),
      result: z.string(),
      reason: z.string().nullish(),
      duration_ms: z.number(),
    }),
  ),
  updated_at: z.number(),
  confirmed_at: z.number().optional(),
  delayed_at: z.number().optional(),
});

/** A record of a delivery as the history shows it. Its times are ms since the epoch. */
export type HistoryEntry = z.infer<typeof historyEntrySchema> & { notification: number };

export const foundDeliverySchema = z.object({
  notification_id: z.string(),
  type: z.string().nullable(),
  notification_label: z.string().nullable(),
  ...historyEntrySchema.shape,
});

/** What a search finds of an event, and the indexes of the notifications of its tenant. */
export type FoundEvent = {
  eventId: string;
  indexes: readonly number[];
  deliveries: readonly z.infer<typeof foundDeliverySchema>[];
};

/** A published outcome of a delivery (docs/producers.md#delivery-outcomes). */
export const outcomeSchema = z.strictObject({
  version: z.literal(1),
  tenant_id: z.string(),
  notification_id: z.string(),
  type: z.string(),
  event_id: z.string(),
  alarm_id: z.string(),
  entity_id: z.string(),
  state: z.string(),
  status: z.string(),
  reason: z.string().nullable(),
  attempts: z.number(),
  accepted_at: z.number(),
  first_attempt_at: z.number().nullable(),
  ended_at: z.number().nullable(),
  trace_id: z.string().nullable(),
});

/** A published outcome, with the attributes that subscriptions filter by. */
export type PublishedOutcome = z.infer<typeof outcomeSchema> & { attributes: Readonly<Record<string, string>> };

/** What `GET /failures` says of a notification. */
export const failingNotificationSchema = z.object({
  notification_id: z.string(),
  failed: z.number(),
  last_reason: z.string().nullable(),
  last_delivered_at: z.number().optional(),
});

export type FailingNotification = z.infer<typeof failingNotificationSchema>;

export const auditEntrySchema = z.object({
  action: z.string(),
  target_id: z.string().nullish(),
  actor: z.object({ type: z.string() }),
});

export type AuditEntry = z.infer<typeof auditEntrySchema> & { tenant: string };

export const credentialsSchema = z.object({ webhook_token: z.string(), webhook_signing_secrets: z.array(z.string()) });

export type Credentials = z.infer<typeof credentialsSchema> & { token: string };

/** Dead letters that the operators moved to their queues, by the name of the dead-letter queue. */
export type Redrive = { startedMs: number; letters: ReadonlyMap<string, readonly DeadLetter[]> };

/** A period of shadow mode. Events are withheld from `startedMs` on, and at least from `fromMs` on. */
export type ShadowPeriod = { tenant: string; startedMs: number; fromMs: number; untilMs: number };

/** An invocation of a function, when it started, and what was passed to it, as JSON. */
export type Invocation = { environmentId: string; atMs: number; text: string };

/** What is known after a run, for its rules. Times are ms since the start of the scenario. */
export type Observations = {
  scenario: Scenario;
  arrivals: readonly Arrival[];
  refusals: readonly Refusal[];
  requests: readonly ReceivedRequest[];
  faults: readonly InjectedFault[];
  /** The IDs of messages that SQS delivered twice. */
  duplicated: readonly string[];
  kills: readonly { functionName: string; environmentId: string; atMs: number; isTimeout: boolean }[];
  people: readonly PersonRequest[];
  history: readonly HistoryEntry[];
  /** What searches find of some events at the end. */
  foundEvents: readonly FoundEvent[];
  /** The history when everything had ended, before what had failed was redelivered. */
  earlierHistory: readonly HistoryEntry[];
  /** The notifications with failures at that time, by their ID. */
  failingNotifications: ReadonlyMap<string, FailingNotification>;
  /** When that was. */
  redeliveredMs: number;
  audits: readonly AuditEntry[];
  /** The IDs of the notifications at the end, by tenant and label. */
  labels: ReadonlyMap<string, readonly string[]>;
  /** The credentials of each account at the start, with its token for the API. */
  credentials: ReadonlyMap<string, Credentials>;
  emailReports: readonly EmailReport[];
  emailProgress: readonly EmailProgress[];
  emails: readonly AcceptedEmail[];
  redrives: readonly Redrive[];
  shadows: readonly ShadowPeriod[];
  /** The dead letters, with those that were moved back, by the name of their queue. */
  deadLetters: ReadonlyMap<string, readonly DeadLetter[]>;
  /** The IDs of notifications by their index. */
  ids: ReadonlyMap<number, string>;
  /** Deliveries that have failed and could not be redelivered at the end. */
  notRedelivered: readonly string[];
  /** Messages that are still in a queue. */
  left: number;
  logs: readonly string[];
  /** When the scenario started, ms since the epoch. */
  startMs: number;
  failures: readonly string[];
  endedMs: number;
  invocations: readonly Invocation[];
  /** Delivery outcomes in the order in which they were published. */
  outcomes: readonly PublishedOutcome[];
  /** How often Lambda gave up records of the stream. */
  reportsGivenUp: number;
};
