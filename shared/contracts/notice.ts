import * as z from 'zod/mini';
import { fact } from './event-header.ts';

/**
 * `failing`: alerts of a notification fail or bounce. `undelivered`: an alert was dead-lettered. `unreached`: an alert
 * reached none of its destinations. `limit`: the daily limit of a tenant is reached. `summary`: lists alerts that were
 * not sent one by one. `stopped`: the emails of a tenant to a mailbox are stopped. `recovered`: alerts of a
 * notification arrive again.
 */
export const noticeKinds = ['failing', 'undelivered', 'recovered', 'unreached', 'limit', 'summary', 'stopped'] as const;
export type NoticeKind = (typeof noticeKinds)[number];

/** The end of the event ID of a notice. No producer's event can have it: its record would prevent the notice. */
export const NOTICE_EVENT_ID = new RegExp(`:\\d+:(${noticeKinds.join('|')})$`);

/** The same for email and for the operators' topic. */
export const noticeContent = z.object({
  kind: z.enum(noticeKinds),
  subject: z.string(),
  paragraphs: z.array(z.string()),
  facts: z.array(fact),
  commands: z.optional(z.array(z.tuple([z.string(), z.string()]))),
});
export type NoticeContent = z.infer<typeof noticeContent>;

/**
 * The last outage of a notification, as stored (docs/decisions/notices.md#outages). Times are ms since the epoch, days
 * the start of a UTC day.
 */
export const outage = z.object({
  /** When the attempt that began it failed. It identifies the outage. */
  started_at_ms: z.number(),
  /** The sort key of the record of that alert. */
  record_sk: z.string(),
  /** When an alert that had failed arrived; absent while the outage lasts. */
  ended_at_ms: z.optional(z.number()),
  /** The notice that announces it. */
  first_notice: z.enum(['failing', 'undelivered']),
  /** The last day on which an outage of the notification was announced, and how many were. */
  announced_day_ms: z.number(),
  announced_count: z.number(),
  /** The last day with a notice `undelivered`. */
  undelivered_day_ms: z.number(),
  /** Increases with each write, which is conditional on it. */
  version: z.number(),
});
export type Outage = z.infer<typeof outage>;
