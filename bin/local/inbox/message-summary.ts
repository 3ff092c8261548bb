import { unescape as unescapeXml } from 'html-escaper';
import { z } from 'zod';
import { alarmEvent } from '../../../shared/contracts/alarm-event.ts';
import type { EventHeader } from '../../../shared/contracts/event-header.ts';
import { jsonOrUndefined } from '../../../shared/contracts/json.ts';
import { headline, oneLine, truncate } from '../../../shared/domain/alert-text.ts';
import { eventHeader } from '../../../shared/domain/event-header.ts';
import type { InboxMessage, MessageSummary, SentMessage } from './message.ts';
import { recipients } from './message-store.ts';

const MAX_TITLE_LENGTH = 200;
const MAX_PREVIEW_LENGTH = 160;
/** The text that is read for a title or preview: a body can have megabytes. */
const MAX_SOURCE_LENGTH = 2_000;

/** Returns what a list shows of a message. Bodies of an unexpected form have their path as title. */
export const messageSummary = (message: InboxMessage): MessageSummary => {
  const cached = summaries.get(message);
  if (cached) return cached;
  const { title, preview } = describe(message);
  const summary: MessageSummary = {
    id: message.id,
    kind: message.kind,
    sent_at: message.sent_at,
    to: recipients(message),
    title: shorten(title, MAX_TITLE_LENGTH),
    preview: shorten(preview, MAX_PREVIEW_LENGTH),
    ...(message.kind === 'webhook' && { verified: message.verified, responded: message.responded }),
  };
  summaries.set(message, summary);
  return summary;
};

const summaries = new WeakMap<InboxMessage, MessageSummary>();

const shorten = (text: string, maxLength: number): string =>
  truncate(oneLine(text.slice(0, MAX_SOURCE_LENGTH)), maxLength);

type Description = { title: string; preview: string };

const describe = (message: SentMessage): Description => {
  switch (message.kind) {
    case 'email':
      return { title: message.subject, preview: withoutPrefix(message.text || message.html, message.subject) };
    case 'sms':
      return { title: message.text, preview: '' };
    case 'managed':
      return { title: message.subject ?? message.text, preview: withoutPrefix(message.text, message.subject ?? '') };
    case 'incidentpager':
      return pagerDescription(message.body) ?? requestDescription(message);
    case 'atomfeed':
      return feedDescription(message.body) ?? requestDescription(message);
    default:
      return alertDescription(message.body) ?? requestDescription(message);
  }
};

/** A text often repeats the subject in its first line. */
const withoutPrefix = (text: string, prefix: string): string =>
  text.startsWith(prefix) ? text.slice(prefix.length) : text;

const requestDescription = ({ path, body }: { path: string; body: string }): Description => ({
  title: `POST ${path}`,
  preview: body,
});

const headerOf = (value: unknown): EventHeader | undefined => {
  const { data: event } = alarmEvent.safeParse(value);
  return event && eventHeader(event, Date.now());
};

const alertDescription = (body: string): Description | undefined => {
  const header = headerOf(jsonOrUndefined(body));
  return header && { title: headline(header), preview: header.status ?? header.event_id };
};

const pagerEvent = z.object({
  event_type: z.string(),
  incident_key: z.string().default(''),
  description: z.string().optional(),
  details: z.unknown(),
});

/** An event of PagerDuty Events API v2, as one of v1. */
const pagerEventV2 = z
  .object({
    event_action: z.string(),
    dedup_key: z.string().default(''),
    payload: z.object({ summary: z.string().optional(), custom_details: z.unknown() }).optional(),
  })
  .transform(({ event_action, dedup_key, payload }) => ({
    event_type: event_action,
    incident_key: dedup_key,
    description: payload?.summary,
    details: payload?.custom_details,
  }));

const pagerDescription = (body: string): Description | undefined => {
  const { data: event } = pagerEvent.or(pagerEventV2).safeParse(jsonOrUndefined(body));
  if (!event) return undefined;
  const alert = headerOf(event.details);
  const title = alert ? headline(alert) : (event.description ?? event.event_type);
  return { title, preview: `${event.event_type} ${event.incident_key}` };
};

const feedDescription = (body: string): Description | undefined => {
  const source = body.slice(0, MAX_SOURCE_LENGTH);
  const title = /<title[^>]*>([^<]*)<\/title>/.exec(source)?.[1];
  const updated = /<updated>([^<]*)<\/updated>/.exec(source)?.[1] ?? '';
  return title === undefined ? undefined : { title: unescapeXml(title), preview: `Atom entry, updated ${updated}` };
};
