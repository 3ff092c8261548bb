import { ALARM_URL_PLACEHOLDER, type EventHeader } from '../contracts/event-header.ts';
import { type NoticeContent, noticeKinds } from '../contracts/notice.ts';
import type { StringMap } from '../contracts/text.ts';
import type { Trace } from '../contracts/trace.ts';
import type { AttemptOutcome } from './attempt-outcome.ts';
import type { DeliveryTarget } from './notification.ts';
import type { Summary } from './summary.ts';

export type Alert = {
  event: EventHeader;
  /** The JSON that webhooks get (`webhookPayload`), as a producer's numbers are written. */
  payload: string;
  /** When the alarm's state changed, ms since the epoch. */
  eventTimeMs: number;
  /** How long after SQS accepted the event the attempt started. Absent in a test. */
  delayMs?: number;
  /** Set by `withAlarmUrl`. */
  alarmUrl?: string | undefined;
  /** Unique per delivery, the same in all attempts. */
  deliveryId: string;
  notice?: NoticeContent | undefined;
  /** What a summary lists. `notice` has its period. */
  summary?: Summary | undefined;
  trace?: Trace | undefined;
  /** Absent in a test, which has no record. */
  notificationId?: string;
  /** Of the recipients that earlier attempts reached. */
  reachedRecipientHashes: readonly string[];
  /** An earlier attempt may have arrived. False by default, as in a test. */
  mayHaveArrived?: boolean;
  /** Milliseconds until the function times out. */
  timeLeft: () => number;
};

export type AlertMessage = Pick<Alert, 'event' | 'payload' | 'eventTimeMs' | 'delayMs' | 'alarmUrl'>;

/**
 * Attempts once, within `sendTimeoutMs`. Throws if nothing was sent because a dependency such as DynamoDB failed or was
 * slow, which does not count as an attempt. `details` are valid fields of the type, `options` those of a webhook.
 */
export type Transport = (
  alert: Alert,
  details: StringMap,
  options?: Pick<DeliveryTarget, 'webhookRequest' | 'signingSecrets' | 'label'>,
) => Promise<AttemptOutcome>;

/** An ID that would change the path of a URL, or that is stored shortened or altered (`shortenedId`). */
const UNLINKED_ID = /^\.\.?$|^.{125}\.{3}$|\ufffd/su;

const percentEncoded = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);

/** Of notices, only escalations of alerts have links: that of a daily limit has a kind of notice as its alarm. */
const alarmUrlOf = (template: string, { event, notice }: Pick<Alert, 'event' | 'notice'>): string | undefined => {
  const ids = { tenant_id: event.tenant_id, entity_id: event.entity.id, alarm_id: event.alarm.id };
  const isOfAlarm = !notice || (notice.kind === 'unreached' && !noticeKinds.some((kind) => kind === ids.alarm_id));
  if (!isOfAlarm || Object.values(ids).some((id) => UNLINKED_ID.test(id))) return undefined;
  return template.replace(ALARM_URL_PLACEHOLDER, (_, name: keyof typeof ids) => percentEncoded(ids[name]));
};

/** Alerts get links to their alarms. @param template the setting `alarmUrl` */
export const withAlarmUrl = (transport: Transport, template: string | undefined): Transport =>
  template === undefined
    ? transport
    : (alert, ...target) => transport({ ...alert, alarmUrl: alarmUrlOf(template, alert) }, ...target);
