import type { AlarmEvent, AlarmState } from '../../contracts/alarm-event.ts';
import type { EventHeader, Fact } from '../../contracts/event-header.ts';
import type { NoticeContent } from '../../contracts/notice.ts';
import type { StopReason } from '../../contracts/outcomes.ts';
import type { NotificationRecord } from '../../contracts/responses/notifications.ts';
import { headline, plainLine, plainName, truncate } from '../../domain/alert-text.ts';
import { eventHash, parseDeliveryPartition } from '../../domain/delivery-key.ts';
import type { DeliveryRecord } from '../../domain/delivery-record.ts';
import { failureReasonOf } from '../../domain/delivery-status.ts';
import { type EmailStop, mailboxHash, type Recipient } from '../../domain/email-stop.ts';
import { namedRecord } from '../../domain/event-header.ts';
import { eventIdTimeMs } from '../../domain/event-time.ts';
import { failureText } from '../../domain/failure-text.ts';
import { incidentKey } from '../../domain/incident.ts';
import { createNotice, dailyNoticeId, type Notice, noticeId } from '../../domain/notice.ts';
import type { OutageNumbers } from '../../domain/outage.ts';
import { MAX_ATTEMPTS } from '../../domain/retry-schedule.ts';
import { isSummary } from '../../domain/summary.ts';
import { DAY_MS, dayEndMs, HOUR_MS, startOf } from '../../domain/time.ts';

/** Maximum length of a label, in code points. Labels may have 255; email clients truncate subjects. */
const MAX_SHOWN_LABEL_LENGTH = 80;

/** A notification as notices name it, or undefined if it was deleted or cannot be read. */
export type Notification = Pick<NotificationRecord, 'label' | 'type'> | undefined;

export type UnreachedDelivery = {
  notificationId: string;
  notification: Notification;
  /** Undefined if the notification does not exist, or cannot be read, so that the delivery was never attempted. */
  record: DeliveryRecord | undefined;
  /** True if there is no record because the notification cannot be read. */
  isUnreadable?: boolean;
};

export type ReportedDelivery = UnreachedDelivery & { tenant: string; record: DeliveryRecord };

export type UnreachedAlert = {
  event: EventHeader;
  /** When SQS accepted the event, ms since the epoch. */
  acceptedAtMs: number;
  /** When it was found that the event had reached nobody, ms since the epoch; the same if it is found again. */
  atMs: number;
};

/** Returns the event of a record, as far as the record stores it. A summary has got the state of its alarms. */
export const eventOfRecord = (record: DeliveryRecord): EventHeader => {
  const { event_id, state, alert } = record;
  const storedRecord = (id: string, label: string | undefined): EventHeader['entity'] =>
    namedRecord({ id, ...(label !== undefined && { label }) });
  const ids = {
    tenant_id: parseDeliveryPartition(record.pk).tenant,
    entity: alert?.entity ?? storedRecord(record.entity_id, record.entity_label),
    alarm: alert?.alarm ?? storedRecord(record.alarm_id, record.alarm_label),
  };
  return {
    ...ids,
    event_id,
    state,
    incident_key: alert?.incident_key ?? incidentKey(ids),
    produced_at_ms: alert?.produced_at_ms,
    status: alert?.status,
    facts: [],
  };
};

/** The label in quotation marks, or the ID if the notification cannot be read or its label is not visible. */
const named = ({ notificationId, notification }: UnreachedDelivery): string => {
  const label = plainLine(notification?.label ?? '');
  return label === '' ? notificationId : `"${truncate(label, MAX_SHOWN_LABEL_LENGTH)}"`;
};

/** Of an alert that has arrived since, the last failure before that. */
const lastFailure = (record: DeliveryRecord): string => {
  const last = record.attempts.findLast(({ result }) => result !== 'delivered');
  return failureText(failureReasonOf(record) ?? last?.reason, record.status === 'bounced' ? undefined : last?.status);
};

const attemptsSoFar = ({ attempt_count }: DeliveryRecord): string => `${attempt_count} of ${MAX_ATTEMPTS}`;

const nextAttemptMs = ({ status, next_attempt_at_ms }: DeliveryRecord): number | undefined =>
  status === 'pending' ? next_attempt_at_ms : undefined;

/** Returns when the alert first failed: at the first attempt of the round, or at its start if nothing was sent. */
const firstFailureMs = ({ first_attempt_at_ms, round_started_at_ms }: DeliveryRecord): number =>
  first_attempt_at_ms || round_started_at_ms;

/** An option of curl that authenticates, as in docs/api.md. */
const TOKEN_HEADER = '-H "X-Auth-Token: $TOKEN"';

const ADVICE = 'Check the destination, then test it. If it has changed, update the notification (PUT).';

const commandsFor = (apiUrl: string, id: string) => {
  const url = `${apiUrl}/notifications/${id}`;
  return {
    test: ['Test the destination', `curl -X POST ${url}/test ${TOKEN_HEADER}`],
    history: ['See the delivery history', `curl ${url}/deliveries ${TOKEN_HEADER}`],
    redeliver: [
      'Redeliver the alerts that failed in the last 14 days',
      `curl -X POST ${url}/redeliver ${TOKEN_HEADER} -d '{"since":0}'`,
    ],
  } satisfies Record<string, [string, string]>;
};

/** A notice about a notification for a period, with facts about its alert before those of the content. */
const notificationNotice = (
  { tenant, notificationId, notification, record }: ReportedDelivery,
  startMs: number,
  content: NoticeContent,
  state: AlarmState = 'WARNING',
): Notice => {
  const event = eventOfRecord(record);
  const facts: Fact[] = [
    ['Alert', headline(event)],
    ...content.facts,
    ...(notification
      ? ([
          ['Notification', notification.label],
          ['Type', notification.type],
        ] satisfies [string, string][])
      : []),
    ['ID', notificationId],
    ['Event', event.event_id],
  ];
  return createNotice(
    tenant,
    noticeId(content.kind, tenant, notificationId, startMs),
    { ...content, facts },
    {
      details: { state, status: content.subject },
      entity: { id: notificationId, ...(notification && { label: notification.label }) },
    },
  );
};

const ONCE_A_DAY = 'The service sends this notice at most once a day for each notification.';

const notArrived = (delivery: ReportedDelivery, result: string): string =>
  `An alert for the notification ${named(delivery)} did not arrive as intended: ${result}.`;

const problemNotice = (
  delivery: ReportedDelivery,
  apiUrl: string,
  kind: 'failing' | 'undelivered',
  startMs: number,
  paragraphs: string[],
  lastResult = lastFailure(delivery.record),
): Notice => {
  const { notificationId, record } = delivery;
  const { test, history, redeliver } = commandsFor(apiUrl, notificationId);
  const isFailing = kind === 'failing';
  return notificationNotice(delivery, startMs, {
    kind,
    subject: isFailing
      ? `Delivery to ${named(delivery)} is failing`
      : `An alert to ${named(delivery)} was not delivered`,
    paragraphs,
    facts: [
      ['Last result', lastResult],
      ['First failure', firstFailureMs(record)],
      ['Attempts so far', attemptsSoFar(record)],
      ['Next attempt', nextAttemptMs(record) ?? 'none'],
    ],
    commands: isFailing ? [test, history] : [test, history, redeliver],
  });
};

/** In hex digits: enough to distinguish the alarms of a tenant. */
const INCIDENT_KEY_LENGTH = 16;

/**
 * The event ID of an escalation: one per alarm, state and UTC hour. A summary lists other alarms than the next one, and
 * may wait for hours, so there is one per summary and state.
 */
export const unreachedNoticeId = (event: EventHeader, atMs: number): string => {
  const [key, timeMs] = isSummary(event)
    ? [eventHash(event), eventIdTimeMs(event.event_id) ?? 0]
    : [event.incident_key, startOf(HOUR_MS, atMs)];
  return noticeId('unreached', event.tenant_id, `${key.slice(0, INCIDENT_KEY_LENGTH)}-${event.state}`, timeMs);
};

/** Returns what an escalation is about: entity and alarm, or the notification of a summary. */
const subjectOf = (event: EventHeader): string =>
  (isSummary(event) ? [event.entity] : [event.entity, event.alarm])
    .map((record) => truncate(plainName(record) ?? '?', MAX_SHOWN_LABEL_LENGTH))
    .join(', ');

/**
 * Its event has the incident and the time of the alert, so that a pager gets none after a newer OK, and the problem as
 * its status, because not all types send the notice.
 */
const escalationOf = (
  { event, acceptedAtMs, atMs }: UnreachedAlert,
  problem: string,
  paragraphs: string[],
  facts: readonly Fact[],
): Notice => {
  const producedAtMs = event.produced_at_ms ?? acceptedAtMs;
  const recordOf = ({ id, name }: EventHeader['entity']): AlarmEvent['entity'] => ({
    id,
    ...(name !== undefined && { label: name }),
  });
  const content: NoticeContent = {
    kind: 'unreached',
    subject: `${event.state} on ${subjectOf(event)}: ${problem}`,
    paragraphs,
    facts: [
      ['Alert', headline(event)],
      ...(event.status === undefined ? [] : [['Status', event.status] satisfies Fact]),
      ['Since', producedAtMs],
      ...facts,
      ['Event', event.event_id],
    ],
  };
  const status = `Escalated: ${problem}. ${event.status ?? ''}`.trim();
  return {
    ...createNotice(event.tenant_id, unreachedNoticeId(event, atMs), content, {
      details: { state: event.state, status, timestamp: producedAtMs },
      entity: recordOf(event.entity),
      alarm: recordOf(event.alarm),
    }),
    incidentKey: event.incident_key,
    acceptedAtMs,
  };
};

const destinationFacts = (destination: UnreachedDelivery): Fact[] => {
  const { notificationId, notification, record, isUnreadable } = destination;
  const name = notification ? `${notification.type} ${named(destination)}` : 'notification';
  const problem = () => {
    if (isUnreadable) return 'cannot be read by the service';
    if (!record || record.status === 'cancelled') return record?.withheld ?? 'deleted';
    return `${lastFailure(record)}; attempts ${attemptsSoFar(record)}`;
  };
  const nextMs = record && nextAttemptMs(record);
  return [
    [name, `${problem()} (${notificationId})`],
    ...(nextMs === undefined ? [] : [['Next attempt', nextMs] satisfies Fact]),
  ];
};

const ONCE_AN_HOUR = 'The service escalates an alarm at most once an hour for each state.';

/** The numbers of destinations, and of unknown IDs of a plan, that an escalation lists. */
export const MAX_LISTED_DESTINATIONS = 26;
const MAX_LISTED_IDS = 10;

export const summaryProblem = ({
  alarm_count: count,
  alarm_names: names = [],
}: Pick<DeliveryRecord, 'alarm_count' | 'alarm_names'>): string => {
  const problem = `a summary of ${count === undefined ? '' : `${count} `}${count === 1 ? 'alarm' : 'alarms'} could not be delivered`;
  const more = (count ?? 0) - names.length;
  return names.length === 0 ? problem : `${problem}: ${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
};

/** Escalations of a tenant in a UTC day, for each counter. Then one notice for each state says so. */
export const MAX_ESCALATIONS_PER_DAY = 20;

/** Returns the counter of a state. OK has its own, so that it cannot use up the limit of the other states. */
export const escalationCounter = (state: AlarmState): 'escalations' | 'ok_escalations' =>
  state === 'OK' ? 'ok_escalations' : 'escalations';

export const escalationLimitNoticeId = ({ tenant_id: tenant, state }: EventHeader, atMs: number): string =>
  dailyNoticeId('unreached', tenant, `summary-${state}`, atMs);

/** The maximum number of notices of stops of an account on a UTC day. Then one says so. */
export const MAX_STOP_NOTICES_PER_DAY = 20;

const BY_RECIPIENT = 'Only the recipient can resume them, with the link in any email of the account.';

const stopAdvice: Record<StopReason, string> = {
  opted_out: BY_RECIPIENT,
  complained: BY_RECIPIENT,
  bounced:
    'Correct the address, or the mailbox, which a test then resumes: POST /notifications/{id}/test. Otherwise the emails resume after a day, and after a week if they had been stopped before.',
};

const alerts = (count: number): string => `${count} ${count === 1 ? 'alert' : 'alerts'}`;

/** The notices, except of summaries (docs/decisions/notices.md#notices): to whom, how often, and what they say. */
export const noticeTable = {
  /** To the contacts, once per outage: the destination has failed for minutes, or an alert has failed. */
  failing: (delivery: ReportedDelivery, apiUrl: string, startedAtMs: number): Notice =>
    problemNotice(delivery, apiUrl, 'failing', startedAtMs, [
      delivery.record.status === 'pending'
        ? `Alerts for the notification ${named(delivery)} are failing: ${lastFailure(delivery.record)}. The service continues to retry.`
        : notArrived(delivery, lastFailure(delivery.record)),
      ADVICE,
      'The service sends this notice once for each outage, and another one when an alert that had failed arrives.',
    ]),

  /** To the contacts, once per notification and UTC day: SES rejected the content of an email. */
  rejected(delivery: ReportedDelivery, apiUrl: string, atMs: number): Notice {
    const result = 'AWS rejected the content of the email';
    const paragraphs = [notArrived(delivery, result), ADVICE, ONCE_A_DAY];
    return problemNotice(delivery, apiUrl, 'failing', startOf(DAY_MS, atMs), paragraphs, result);
  },

  /** To the contacts, once per notification and UTC day: an alert was dead-lettered. */
  undelivered: (delivery: ReportedDelivery, apiUrl: string, atMs: number): Notice =>
    problemNotice(delivery, apiUrl, 'undelivered', startOf(DAY_MS, atMs), [
      `The service stopped trying to deliver an alert to the notification ${named(delivery)}: ${lastFailure(delivery.record)}.`,
      `${ADVICE} Then redeliver.`,
      ONCE_A_DAY,
    ]),

  /** To the contacts, at most once per outage: an alert that had failed arrived. */
  recovered(
    delivery: ReportedDelivery,
    apiUrl: string,
    startedAtMs: number,
    { failed, delivered, stillFailed, firstFailedAtMs }: Omit<OutageNumbers, 'lastFailedAtMs' | 'isLasting'>,
  ): Notice {
    const name = named(delivery);
    const { history, redeliver } = commandsFor(apiUrl, delivery.notificationId);
    return notificationNotice(
      delivery,
      startedAtMs,
      {
        kind: 'recovered',
        subject: `Delivery to ${name} works again`,
        paragraphs: [
          `Alerts for the notification ${name} that had failed, or newer ones in their place, arrive again. Of ${alerts(failed)} that failed in this outage, ${delivered} ${delivered === 1 ? 'was' : 'were'} delivered since, and ${stillFailed} ${stillFailed === 1 ? 'is' : 'are'} still failed.`,
          ...(stillFailed === 0 ? [] : ['Those that are retried follow by themselves. Redeliver the others.']),
        ],
        facts: [
          ['Failed', alerts(failed)],
          ['Delivered since', alerts(delivered)],
          ['Still failed', alerts(stillFailed)],
          ['First failure', firstFailedAtMs],
          ['Works again since', delivery.record.updated_at_ms],
        ],
        commands: stillFailed === 0 ? [history] : [history, redeliver],
      },
      'OK',
    );
  },

  /**
   * To contacts, operators and fallback notifications, once per alarm, state and UTC hour: an alert reached nobody.
   * `destinations`: of `count`, at least the first `MAX_LISTED_DESTINATIONS`.
   */
  unreached(
    alert: UnreachedAlert,
    destinations: readonly UnreachedDelivery[],
    count = destinations.length,
    summaryProblem?: string,
  ): Notice {
    const listed = destinations.slice(0, MAX_LISTED_DESTINATIONS);
    const more = count - listed.length;
    const destinationProblem =
      count === 1 ? 'its only destination could not be reached' : `none of its ${count} destinations could be reached`;
    const nobody = summaryProblem
      ? 'The history of the notification lists these alerts with the status summarized.'
      : 'This alert has reached nobody.';
    return escalationOf(
      alert,
      summaryProblem ?? destinationProblem,
      [`${nobody} Check the alarm itself, then the destinations below.`, ...(summaryProblem ? [] : [ONCE_AN_HOUR])],
      [
        ...listed.flatMap(destinationFacts),
        ...(more > 0 ? [[`and ${more} more`, 'none of them could be reached'] satisfies Fact] : []),
      ],
    );
  },

  /** As `unreached`: the notification plan lists only notifications that do not exist. */
  unknownPlan(alert: UnreachedAlert, ids: readonly string[]): Notice {
    const listed = ids.slice(0, MAX_LISTED_IDS).map((id) => truncate(id, MAX_SHOWN_LABEL_LENGTH));
    const more = ids.length > MAX_LISTED_IDS ? ` and ${ids.length - MAX_LISTED_IDS} more` : '';
    return escalationOf(
      alert,
      'its notification plan lists only notifications that do not exist',
      ['This alert has reached nobody. Check the alarm itself, then change its notification plan.', ONCE_AN_HOUR],
      [['Unknown notifications', `${listed.join(', ')}${more}`]],
    );
  },

  /** As `unreached`, once per state and UTC day: further alerts reach nobody and are not escalated that day. */
  escalationLimit(event: EventHeader, atMs: number): Notice {
    const { tenant_id: tenant, state } = event;
    const subject = `More than ${MAX_ESCALATIONS_PER_DAY} ${state === 'OK' ? 'OK alerts' : 'alarms'} reached nobody today`;
    const content: NoticeContent = {
      kind: 'unreached',
      subject,
      paragraphs: [
        `Until the day ends, the service escalates no further ${state} alerts of this account. Alerts that reach nobody stay visible in the delivery history of their notifications.`,
      ],
      facts: [
        ['Latest alert', headline(event)],
        ['The day ends', dayEndMs(atMs)],
      ],
    };
    return createNotice(tenant, escalationLimitNoticeId(event, atMs), content, { details: { state, status: subject } });
  },

  /** To the contacts, once per limit and UTC day: alerts of a type exceed a daily limit. */
  limit(event: EventHeader, isSms: boolean, atMs: number): Notice {
    const { tenant_id: tenant } = event;
    const [limit, what] = isSms ? ['sms_per_day', 'SMS'] : ['emails_per_day', 'emails'];
    return createNotice(tenant, dailyNoticeId('limit', tenant, limit, atMs), {
      kind: 'limit',
      subject: `The daily limit of ${what} is reached: alerts are summarized`,
      paragraphs: [
        `The account has used its limit ${limit} of this day. Until it ends, each notification gets one summary an hour that lists the alerts above the limit.`,
        'As many summaries as alerts are sent a day. Further ones wait for the next day. GET /account shows the limits and how much of them is used. The operators of the service can raise them.',
      ],
      facts: [
        ['First alert above the limit', headline(event)],
        ['The day ends', dayEndMs(atMs)],
        ['Event', event.event_id],
      ],
    });
  },

  /**
   * To the contacts, or to the operators if none remains, once per mailbox, cause and UTC day: the emails of a tenant
   * to a mailbox are stopped. The event ID has only a hash of the mailbox.
   */
  stopped(recipient: Recipient, { reason, sinceMs }: EmailStop): Notice {
    const { tenant, address } = recipient;
    const id = dailyNoticeId('stopped', tenant, `${mailboxHash(recipient)}-${reason}`, sinceMs);
    return createNotice(tenant, id, {
      kind: 'stopped',
      subject: `Emails to ${address} are stopped`,
      paragraphs: [
        `Nothing is sent by email to ${address}: ${failureText(reason, undefined)}. Alerts to it fail, and are escalated if they reach nobody else.`,
        stopAdvice[reason],
        'The service sends this notice once a day for each mailbox and reason.',
      ],
      facts: [
        ['Address', address],
        ['Since', sinceMs],
      ],
    });
  },

  /** As `stopped`, once per UTC day: further stops have no notice. */
  stopLimit: (tenant: string, sinceMs: number): Notice =>
    createNotice(tenant, dailyNoticeId('stopped', tenant, 'more-stops', sinceMs), {
      kind: 'stopped',
      subject: `Emails to more than ${MAX_STOP_NOTICES_PER_DAY} addresses were stopped today`,
      paragraphs: [
        'Until the day ends, the service sends no notices of further stops. GET /notifications/{id} and GET /account show them, and alerts that reach nobody are escalated.',
      ],
      facts: [['The day ends', dayEndMs(sinceMs)]],
    }),
};
