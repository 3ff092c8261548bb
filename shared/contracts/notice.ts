import * as z from 'zod/mini';
import { fact } from './event-header.ts';

/**
 * The kinds of notices. `failing`: alerts of a notification fail or bounce. `undelivered`: an alert was dead-lettered.
 * `unreached`: an alert reached none of its destinations (docs/decisions/notices.md#notices). `limit`: the daily limit of a
 * tenant is reached. `summary`: lists alerts that were not sent one by one (docs/decisions/deliveries.md#summaries).
 * `stopped`: the emails of a tenant to a mailbox are stopped.
 */
export const noticeKinds = ['failing', 'undelivered', 'unreached', 'limit', 'summary', 'stopped'] as const;

/** The kind of a notice. */
export type NoticeKind = (typeof noticeKinds)[number];

/**
 * The end of the event ID of a notice. No producer's event can have such an ID: the record of the event would prevent the
 * delivery of the notice.
 */
export const NOTICE_EVENT_ID = new RegExp(`:\\d+:(${noticeKinds.join('|')})$`);

/** The text of a notice, the same for email and for the operators' topic. */
export const noticeContent = z.object({
  kind: z.enum(noticeKinds),
  subject: z.string(),
  /** What happened and what to do. */
  paragraphs: z.array(z.string()),
  /** Names and values, most important first. */
  facts: z.array(fact),
  /** What each command does, and the command to copy. */
  commands: z.optional(z.array(z.tuple([z.string(), z.string()]))),
});

/** The text of a notice. */
export type NoticeContent = z.infer<typeof noticeContent>;

/** The values of the setting `escalateUnreached`: who is notified of an alert that reached nobody. */
export const escalationModes = ['contacts+managed', 'contacts', 'off'] as const;
