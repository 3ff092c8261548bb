import type { NotificationTypeId } from '../../../shared/contracts/notification-types.ts';
import {
  accepting,
  type FaultRates,
  type FrequentFault,
  type NotificationAction,
  noFaults,
  noStreamFaults,
  notificationOf,
  type Outage,
  type Phase,
  type PlannedEvent,
  type PlannedTenant,
  type Scenario,
  type Step,
  type StreamFaults,
  until,
} from './scenario.ts';
import { hangingOf, mailerOf, stormOf, tenantNamed } from './special-tenants.ts';

/*
 * Situations that few seeds have: scenarios that somebody wrote, for defects that can show in nothing else. Each has one
 * tenant, whose notifications have the indexes 0, 1 and so on.
 */

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

type SituationOptions = {
  types: readonly NotificationTypeId[];
  /** True if the destinations are ordered webhooks. */
  isOrdered?: true;
  /** How the destinations answer. Default: they accept */
  phases?: readonly Phase[];
  /** How the last one answers. Default: as the others */
  lastPhases?: readonly Phase[];
  /** True if the addresses of all emails are of one mailbox. */
  isOneMailbox?: true;
  tenant?: Partial<PlannedTenant>;
  steps: readonly Step[];
  /** Decides which calls fail, and how long they take. Default: 1 */
  seed?: number;
  rates?: Partial<FaultRates>;
  frequentFault?: FrequentFault;
  outages?: readonly Outage[];
  emailReports?: number;
  recoveryMs?: number;
  concurrency?: number;
  stream?: StreamFaults;
};

/** Returns the phases of destinations that fail for a time, and accept then. */
const failingAt = (fromMs: number, lengthMs: number): Phase[] => [
  { fromMs, behavior: 'fail' },
  { fromMs: fromMs + lengthMs, behavior: 'accept' },
];

const TENANT = 'situation';

/** Returns a CRITICAL of its own alarm to the first notification. */
const alert = (number: number, atMs: number, options: Partial<PlannedEvent> = {}): PlannedEvent => ({
  kind: 'event',
  atMs,
  tenant: TENANT,
  number,
  alarm: `al${number}`,
  state: 'CRITICAL',
  timeMs: atMs,
  notifications: [0],
  repeatsAfterMs: [],
  ...options,
});

/** Returns a fault of a function's calls of an operation. */
const often = (kind: FrequentFault['kind'], operation: string, rate: number, functionName: string): FrequentFault => ({
  operation,
  kind,
  rate,
  functionName,
});

const situation = (options: SituationOptions): Scenario => {
  const {
    types,
    isOrdered,
    isOneMailbox,
    phases = accepting,
    lastPhases = phases,
    tenant = {},
    steps,
    ...faults
  } = options;
  const { rates = {}, frequentFault, ...rest } = faults;
  const { seed = 1, outages = [], emailReports = 0, recoveryMs = 10 * MINUTE_MS, concurrency = 8 } = rest;
  const { stream = noStreamFaults } = rest;
  const notifications = types.map((type, index) => ({
    ...notificationOf(index, type, index === types.length - 1 ? lastPhases : phases),
    ...(isOrdered && { isOrdered }),
    ...(isOneMailbox && index > 0 && { mailbox: 'd0' }),
  }));
  return {
    seed,
    tenants: [{ ...tenantNamed(TENANT, 'ordinary', notifications), ...tenant }],
    steps,
    rates: { ...noFaults, ...rates },
    frequentFault,
    outages,
    emailReports,
    privateWebhooks: [],
    maxSkewMs: 0,
    stream,
    hasOutcomes: true,
    concurrency,
    replicationLagMs: 0,
    recoveryMs,
  };
};

/** Returns what a recipient does on the page of the link in the newest email. */
const onPage = (kind: 'opt-out' | 'undo-opt-out', atMs: number, to = 'd0'): Step => ({
  kind,
  atMs,
  tenant: TENANT,
  to,
});
const act = (kind: NotificationAction, atMs: number, notification = 0): Step => ({
  kind,
  atMs,
  tenant: TENANT,
  notification,
});

const mute = (atMs: number, notification: number, lengthMs: number): Step => ({
  kind: 'mute',
  atMs,
  tenant: TENANT,
  notification,
  lengthMs,
});
const seconds = (...each: number[]): number[] => each.map((second) => second * SECOND_MS);
const alertsAt = (timesMs: readonly number[], options: Partial<PlannedEvent> = {}): PlannedEvent[] =>
  timesMs.map((atMs, number) => alert(number, atMs, options));

/** Returns the events of incidents that begin one after the other: when each is sent, and its time, both in ms after the begin. */
const incidentsEvery = (
  lengthMs: number,
  count: number,
  events: readonly (readonly [sentMs: number, timeMs: number])[],
): PlannedEvent[] =>
  Array.from({ length: count }, (_, incident) => {
    const atMs = SECOND_MS + lengthMs * incident;
    return events.map(([sentMs, timeMs], index) =>
      alert(10 * incident + index, atMs + sentMs, { alarm: `al${incident}`, timeMs: atMs + timeMs }),
    );
  }).flat();

const quietTenant = tenantNamed('quiet', 'quiet', [notificationOf(0, 'email')]);
const mailer = mailerOf(1, quietTenant, { emails: 200, startMs: SECOND_MS });
const quietWebhook = tenantNamed('quiet', 'quiet', [notificationOf(0, 'webhook')]);
const hanging = hangingOf(1, quietWebhook, {
  endpoints: 10,
  startMs: SECOND_MS,
  attacks: 12,
  intervalMs: 10 * SECOND_MS,
});

const rejectedTenant: PlannedTenant = {
  ...tenantNamed('quiet', 'quiet', [notificationOf(0, 'webhook', until(9 * MINUTE_MS, 'reject'))]),
  fallback: notificationOf(1, 'sms'),
};
const storm = stormOf(2, rejectedTenant, {
  alerts: 200,
  startMs: SECOND_MS,
  phases: until(9 * MINUTE_MS, 'reject'),
});

/** The situations, by name. */
export const situations: ReadonlyMap<string, Scenario> = new Map(
  Object.entries({
    'a tenant uses up the rate of SES': {
      ...situation({ types: [], steps: mailer.steps, concurrency: 25 }),
      tenants: [quietTenant, mailer.tenant],
      sendingRate: 14,
    },
    'a tenant is slow, and the alerts of another one follow': {
      ...situation({ types: [], steps: hanging.steps, concurrency: 4 }),
      tenants: [quietWebhook, hanging.tenant],
    },
    // At 1/130 of the speed of AWS (docs/decisions/notices.md#reports).
    'many alerts of a tenant are rejected, and some of another one': {
      ...situation({
        types: [],
        steps: storm.steps,
        frequentFault: often('slow', 'dynamodb.BatchGetItem', 1, 'report-deliveries'),
        concurrency: 20,
      }),
      tenants: [rejectedTenant, storm.tenant],
      reporters: 1,
    },
    'alerts of an incident are rejected one after the other': situation({
      types: ['incidentpager'],
      phases: until(5 * MINUTE_MS, 'reject'),
      steps: alertsAt(seconds(1, 3, 5), { alarm: 'al0' }),
    }),
    'a recipient stops emails twice, and resumes them': situation({
      types: ['email', 'email'],
      steps: [
        alert(0, SECOND_MS),
        onPage('opt-out', 60 * SECOND_MS),
        onPage('opt-out', 70 * SECOND_MS),
        alert(1, 120 * SECOND_MS),
        alert(2, 150 * SECOND_MS, { notifications: [0, 1] }),
        onPage('undo-opt-out', 300 * SECOND_MS),
        alert(3, 400 * SECOND_MS),
      ],
    }),
    'a recipient stops and resumes emails twelve times on a day': situation({
      types: ['email'],
      steps: [
        alert(0, SECOND_MS),
        ...Array.from({ length: 12 }, (_, round) => [
          onPage('opt-out', (60 + 40 * round) * SECOND_MS),
          onPage('undo-opt-out', (80 + 40 * round) * SECOND_MS),
        ]).flat(),
        alert(1, 700 * SECOND_MS),
      ],
    }),
    'a recipient stops emails to one spelling of the mailbox': situation({
      types: ['email', 'email'],
      isOneMailbox: true,
      steps: [
        alert(0, SECOND_MS, { notifications: [0, 1] }),
        onPage('opt-out', 60 * SECOND_MS),
        alert(1, 120 * SECOND_MS, { notifications: [0, 1] }),
        onPage('undo-opt-out', 300 * SECOND_MS, 'd1'),
        alert(2, 400 * SECOND_MS, { notifications: [0, 1] }),
      ],
    }),
    'addresses bounce for two days': situation({
      types: ['email', 'email', 'email', 'email'],
      phases: until(48 * HOUR_MS, 'accept-and-bounce'),
      steps: alertsAt(
        [SECOND_MS, 20 * MINUTE_MS, 20 * HOUR_MS, 25 * HOUR_MS, 26 * HOUR_MS, 72 * HOUR_MS, 216 * HOUR_MS],
        {
          notifications: [0, 1, 2, 3],
        },
      ),
    }),
    'tests go to addresses that bounced, one of which works again': situation({
      seed: 2,
      types: ['email', 'email'],
      phases: until(10 * MINUTE_MS, 'accept-and-bounce'),
      lastPhases: [{ fromMs: 0, behavior: 'accept-and-bounce' }],
      steps: [
        alert(0, SECOND_MS, { notifications: [0, 1] }),
        ...[0, 1].map((index) => act('test', 12 * MINUTE_MS, index)),
        ...[21, 31, 95].map((minute) => act('test', minute * MINUTE_MS, 1)),
        alert(1, 30 * MINUTE_MS, { notifications: [0, 1] }),
        alert(2, 23 * HOUR_MS, { notifications: [0, 1] }),
      ],
    }),
    'complaints come days late, one of them after its recipient resumed emails': situation({
      types: ['email', 'email'],
      phases: until(30 * SECOND_MS, 'accept-and-complain'),
      steps: [
        alert(0, SECOND_MS, { notifications: [0, 1] }),
        onPage('opt-out', 10 * MINUTE_MS),
        alert(1, 15 * MINUTE_MS, { notifications: [0, 1] }),
        onPage('undo-opt-out', 20 * MINUTE_MS),
        ...[49, 80].map((hour) => alert(hour, hour * HOUR_MS, { notifications: [0, 1] })),
        onPage('undo-opt-out', 81 * HOUR_MS, 'd1'),
        alert(82, 82 * HOUR_MS, { notifications: [0, 1] }),
      ],
    }),
    'contacts and the recipient of a fallback notification stop emails': situation({
      types: ['technicalContactsEmail', 'webhook'],
      lastPhases: until(30 * MINUTE_MS, 'reject'),
      tenant: {
        contacts: ['a', 'b'].map((name) => ({ address: `${name}@people.test`, phases: accepting })),
        fallback: notificationOf(2, 'email'),
      },
      steps: [
        alert(0, SECOND_MS, { notifications: [0] }),
        alert(1, 2 * SECOND_MS, { notifications: [1] }),
        onPage('opt-out', 2 * MINUTE_MS, 'a@people.test'),
        onPage('opt-out', 2 * MINUTE_MS, 'd2'),
        alert(2, 4 * MINUTE_MS, { notifications: [0] }),
        alert(3, 4 * MINUTE_MS, { notifications: [1] }),
        onPage('opt-out', 6 * MINUTE_MS, 'b@people.test'),
        alert(4, 8 * MINUTE_MS, { notifications: [0] }),
        onPage('undo-opt-out', 10 * MINUTE_MS, 'a@people.test'),
        onPage('undo-opt-out', 10 * MINUTE_MS, 'd2'),
        alert(5, 12 * MINUTE_MS, { notifications: [0] }),
        alert(6, 12 * MINUTE_MS, { notifications: [1] }),
      ],
    }),
    // That of number 2 is closed while it is idle, after the entry arrived.
    'the feed has the entry of a request that is sent again': situation({
      types: ['atomfeed'],
      steps: [alert(2, SECOND_MS)],
    }),
    'an alert to several addresses is partly above the daily limit': situation({
      seed: 2,
      types: ['email', 'email', 'email'],
      tenant: { limits: { emailsPerTenantPerDay: 2 } },
      steps: [alert(0, SECOND_MS, { notifications: [0, 1, 2] })],
    }),
    'messages that SES throttled are given back, and the responses are lost': situation({
      seed: 2,
      types: ['email'],
      phases: [
        { fromMs: 0, behavior: 'accept' },
        { fromMs: 5 * SECOND_MS, behavior: 'throttle' },
        { fromMs: 30 * SECOND_MS, behavior: 'accept' },
      ],
      tenant: { limits: { emailsPerTenantPerDay: 3 } },
      steps: alertsAt(seconds(1, 2, 7, 40, 80, 120)),
      frequentFault: often('lost', 'dynamodb.UpdateItem', 0.3, 'send-email'),
      recoveryMs: 35 * SECOND_MS,
    }),
    'the partition of a tenant is throttled': situation({
      types: ['webhook', 'email'],
      steps: alertsAt(seconds(1, 2, 3, 4), { notifications: [0, 1] }),
      rates: { throttledKey: 0.8 },
    }),
    'an alert fails again after it was redelivered': situation({
      types: ['webhook'],
      phases: until(30 * HOUR_MS, 'reject'),
      steps: [alert(0, SECOND_MS), act('redeliver', 25 * HOUR_MS)],
      recoveryMs: 31 * HOUR_MS,
    }),
    'a webhook works again five times on a day': situation({
      types: ['webhook'],
      phases: [0, 1, 2, 3, 4].flatMap((hour) => failingAt(hour * HOUR_MS, 5 * MINUTE_MS)),
      steps: alertsAt([0, 1, 2, 3, 4].map((hour) => hour * HOUR_MS + SECOND_MS)),
      recoveryMs: 6 * HOUR_MS,
    }),
    // The day ends after 16 hours.
    'a webhook fails for the fourth time before midnight, until the next day': situation({
      types: ['webhook'],
      phases: [
        ...[12, 13, 14].flatMap((hour) => failingAt(hour * HOUR_MS, 5 * MINUTE_MS)),
        ...failingAt(15 * HOUR_MS, 3 * HOUR_MS),
      ],
      steps: alertsAt([12, 13, 14, 15].map((hour) => hour * HOUR_MS + SECOND_MS)),
      recoveryMs: 20 * HOUR_MS,
    }),
    // The day ends after 16 hours.
    'a webhook fails across midnight for two alerts': situation({
      types: ['webhook'],
      phases: failingAt(14 * HOUR_MS, 5 * HOUR_MS),
      steps: alertsAt([14 * HOUR_MS + SECOND_MS, 17 * HOUR_MS]),
      recoveryMs: 21 * HOUR_MS,
    }),
    'a webhook fails for two alerts, works again, and fails again': situation({
      types: ['webhook'],
      phases: [...failingAt(0, 6 * MINUTE_MS), ...failingAt(HOUR_MS, 5 * MINUTE_MS)],
      steps: alertsAt([SECOND_MS, 90 * SECOND_MS, HOUR_MS + SECOND_MS]),
      recoveryMs: 2 * HOUR_MS,
    }),
    'a webhook fails, two new alerts arrive, and it fails again': situation({
      types: ['webhook'],
      phases: [...failingAt(0, 5 * MINUTE_MS), ...failingAt(9 * MINUTE_MS, 6 * MINUTE_MS)],
      steps: alertsAt([SECOND_MS, 7 * MINUTE_MS, 8 * MINUTE_MS, 10 * MINUTE_MS]),
      recoveryMs: HOUR_MS,
    }),
    'DynamoDB is down until a day after the first attempt': situation({
      types: ['webhook'],
      phases: until(7 * HOUR_MS, 'fail'),
      steps: [alert(0, SECOND_MS)],
      outages: [{ service: 'dynamodb', fromMs: 7.5 * HOUR_MS, untilMs: 24.5 * HOUR_MS }],
      recoveryMs: 24.5 * HOUR_MS,
    }),
    'an ordered webhook fails until a newer event of the alarm arrives': situation({
      types: ['webhook'],
      isOrdered: true,
      phases: until(5 * SECOND_MS, 'fail'),
      steps: [alert(0, SECOND_MS), alert(1, 10 * SECOND_MS, { alarm: 'al0', state: 'OK' })],
    }),
    'an ordered webhook fails for minutes until a newer event of the alarm arrives': situation({
      types: ['webhook'],
      isOrdered: true,
      phases: until(6 * MINUTE_MS, 'fail'),
      steps: [alert(0, SECOND_MS), alert(1, 7 * MINUTE_MS, { alarm: 'al0', state: 'OK' })],
      recoveryMs: HOUR_MS,
    }),
    'a stolen token is revoked with those that tokens issued since': situation({
      types: ['webhook'],
      steps: [alert(0, SECOND_MS), { kind: 'revoke', atMs: 2 * SECOND_MS, tenant: TENANT, isSince: true }],
    }),
    // At an even number of ms, two people do.
    'two people rotate the signing secret at the same time': situation({
      types: ['webhook'],
      steps: [
        alert(0, SECOND_MS),
        ...seconds(2, 10, 20).map((atMs): Step => ({ kind: 'rotate', atMs, tenant: TENANT })),
      ],
    }),
    'two alerts of an incident have the same times': situation({
      types: ['incidentpager'],
      steps: alertsAt(seconds(1, 1), { alarm: 'al0', timeMs: SECOND_MS }),
    }),
    'a producer sends an event with the ID of a summary': situation({
      types: ['email'],
      tenant: { summaries: { email_after: 1, sms_after: 1, window_minutes: 1 } },
      steps: [
        { kind: 'occupy', atMs: 100, tenant: TENANT, notification: 0, windowMinutes: 1 },
        ...alertsAt(seconds(10, 11, 12)),
      ],
    }),
    'an event is repeated while its alert is sent': situation({
      types: ['webhook'],
      phases: until(MINUTE_MS, 'accept-slowly'),
      steps: [alert(0, SECOND_MS, { repeatsAfterMs: seconds(2, 3) })],
    }),
    'another event has the ID of one whose alert fails': situation({
      types: ['webhook'],
      phases: until(20 * SECOND_MS, 'fail'),
      steps: [alert(0, SECOND_MS, { alteredAfterMs: 10 * SECOND_MS, repeatsAfterMs: seconds(60) })],
    }),
    'an event is repeated after its alert was rejected': situation({
      types: ['webhook'],
      phases: until(5 * MINUTE_MS, 'reject'),
      steps: [alert(0, SECOND_MS, { repeatsAfterMs: seconds(20, 60) })],
    }),
    'SQS refuses batches of deliveries': situation({
      types: ['webhook', 'email', 'sms'],
      steps: alertsAt(seconds(1, 5, 10), { notifications: [0, 1, 2] }),
      frequentFault: often('error', 'sqs.SendMessageBatch', 0.9, 'dispatch-alarm-events'),
    }),
    'the notices of rejected alerts cannot be queued': situation({
      types: ['webhook'],
      phases: until(30 * MINUTE_MS, 'reject'),
      steps: alertsAt(seconds(1, 10, 20, 30)),
      frequentFault: often('error', 'sqs.SendMessage', 0.9, 'report-deliveries'),
    }),
    'an OK reaches nobody, and then a CRITICAL of the alarm': situation({
      types: ['webhook'],
      phases: until(5 * MINUTE_MS, 'reject'),
      tenant: { fallback: notificationOf(1, 'sms') },
      steps: [alert(0, SECOND_MS, { state: 'OK' }), alert(1, MINUTE_MS, { alarm: 'al0' })],
    }),
    'senders are ended when alerts were rejected': situation({
      seed: 2,
      types: ['webhook'],
      phases: until(5 * MINUTE_MS, 'reject'),
      steps: alertsAt(seconds(1, 10, 20, 30, 40, 50)),
      frequentFault: often('kill', 'dynamodb.UpdateItem', 0.3, 'send-webhook'),
    }),
    'one contact is rejected, and the email to the other bounces': situation({
      types: ['technicalContactsEmail'],
      tenant: {
        emailReports: 1,
        contacts: [
          { address: 'a@people.test', phases: accepting },
          { address: 'b@people.test', phases: until(8 * MINUTE_MS, 'reject') },
        ],
      },
      steps: alertsAt(seconds(1, 10, 20)),
    }),
    'one of two contacts is throttled, and it cannot be recorded who was reached': situation({
      types: ['technicalContactsEmail'],
      tenant: {
        contacts: [
          { address: 'a@people.test', phases: accepting },
          { address: 'b@people.test', phases: until(20 * MINUTE_MS, 'throttle') },
        ],
      },
      steps: alertsAt(seconds(1, 100, 200, 300, 400, 500)),
      rates: { recordOutage: 0.7 },
      recoveryMs: 20 * MINUTE_MS,
    }),
    'a redelivery is ended between its writes': situation({
      types: ['webhook'],
      phases: until(MINUTE_MS, 'reject'),
      steps: [...alertsAt(seconds(1, 2, 3)), ...[2, 4, 6].map((minute) => act('redeliver', minute * MINUTE_MS))],
      frequentFault: often('error', 'sqs.SendMessageBatch', 1, 'redeliver'),
    }),
    'two people redeliver the same alerts at the same time': situation({
      types: ['webhook'],
      phases: until(MINUTE_MS, 'reject'),
      steps: [...alertsAt(seconds(1, 2, 3)), ...seconds(30, 30, 120, 120).map((atMs) => act('redeliver', atMs))],
    }),
    'senders are ended before the first alerts of a window are sent': situation({
      types: ['email'],
      tenant: { summaries: { email_after: 2, sms_after: 1, window_minutes: 20 } },
      steps: alertsAt(seconds(1, 400, 410, 420)),
      frequentFault: often('kill', 'ses.SendRawEmail', 0.6, 'send-email'),
      recoveryMs: 5 * MINUTE_MS,
    }),
    'workers are ended while they count and summarize alerts': situation({
      seed: 2,
      types: ['email'],
      tenant: { summaries: { email_after: 2, sms_after: 1, window_minutes: 20 } },
      steps: alertsAt(seconds(1, 3, 5, 7, 9, 11)),
      frequentFault: often('kill', 'dynamodb.UpdateItem', 0.3, 'send-email'),
      recoveryMs: 5 * MINUTE_MS,
    }),
    'alerts are rejected, and their claims are given up late': situation({
      types: ['webhook'],
      phases: until(5 * MINUTE_MS, 'reject'),
      steps: alertsAt(seconds(1, 10, 20, 30, 40, 50)),
      rates: { duplicateReceives: 0.3, sqsError: 0.5 },
      frequentFault: often('late', 'dynamodb.UpdateItem', 0.3, 'send-webhook'),
    }),
    'SQS refuses alerts that wait for their incident lock': situation({
      types: ['incidentpager'],
      phases: until(MINUTE_MS, 'accept-slowly'),
      steps: alertsAt(seconds(1, 2, 3), { alarm: 'al0' }),
      frequentFault: often('error', 'sqs.SendMessage', 0.9, 'send-incidentpager'),
      recoveryMs: 2 * MINUTE_MS,
    }),
    'a slow pager gets retries of an incident in one batch': situation({
      types: ['incidentpager'],
      phases: [
        { fromMs: 0, behavior: 'fail' },
        ...until(2 * MINUTE_MS, 'accept-slowly').map((each) => ({
          ...each,
          fromMs: Math.max(each.fromMs, 4 * SECOND_MS),
        })),
      ],
      steps: alertsAt(seconds(1, 1.2, 1.4, 1.6), { alarm: 'al0' }),
    }),
    'workers are ended after newer events of incidents': situation({
      seed: 7,
      types: ['incidentpager'],
      steps: incidentsEvery(200 * SECOND_MS, 6, [
        [0, 0],
        [80 * SECOND_MS, -1],
      ]),
      frequentFault: often('kill', 'dynamodb.UpdateItem', 0.2, 'send-incidentpager'),
      recoveryMs: 30 * MINUTE_MS,
    }),
    'copies of the release of an incident lock arrive late': situation({
      types: ['incidentpager'],
      phases: [0, 1, 2, 3, 4, 5].flatMap((round): Phase[] => [
        { fromMs: MINUTE_MS * round, behavior: 'fail' },
        { fromMs: MINUTE_MS * round + 3 * SECOND_MS, behavior: 'accept-slowly' },
      ]),
      steps: incidentsEvery(MINUTE_MS, 6, [
        [0, 0],
        [5_000, 30],
        [6_000, 20],
        [6_100, 10],
      ]),
      frequentFault: often('late', 'dynamodb.UpdateItem', 0.4, 'send-incidentpager'),
      recoveryMs: 6 * MINUTE_MS,
    }),
    'alerts are listed in a summary long after the end of its window': situation({
      types: ['email'],
      tenant: { summaries: { email_after: 1, sms_after: 1, window_minutes: 1 } },
      steps: [0, 1, 2, 3].flatMap((window) =>
        [2, 5, 56, 56.4, 56.8, 57.2, 57.5, 57.8, 58, 58.2, 58.4, 58.6].map((second, index) =>
          alert(20 * window + index, window * MINUTE_MS + second * SECOND_MS),
        ),
      ),
      frequentFault: often('late', 'dynamodb.UpdateItem', 0.5, 'send-email'),
      recoveryMs: 6 * MINUTE_MS,
    }),
    'one of three destinations is reached': situation({
      types: ['webhook', 'webhook', 'webhook'],
      phases: until(5 * MINUTE_MS, 'reject'),
      lastPhases: accepting,
      tenant: { fallback: notificationOf(3, 'sms') },
      steps: [alert(0, SECOND_MS, { notifications: [0, 1, 2] })],
    }),
    'the dead letter of a rejected alert cannot be sent for half an hour': situation({
      types: ['webhook', 'webhook'],
      phases: until(40 * MINUTE_MS, 'reject'),
      tenant: { fallback: notificationOf(2, 'sms') },
      steps: [alert(0, SECOND_MS, { notifications: [0, 1] })],
      frequentFault: often('error', 'sqs.SendMessage', 1, 'send-webhook'),
      recoveryMs: 30 * MINUTE_MS,
    }),
    'a webhook fails in all attempts': situation({
      types: ['webhook'],
      phases: until(10 * HOUR_MS, 'fail'),
      tenant: { fallback: notificationOf(1, 'sms') },
      steps: [alert(0, SECOND_MS)],
      recoveryMs: 10 * HOUR_MS,
    }),
    'alerts fail across an hour, and their reports come late': situation({
      types: ['webhook', 'webhook'],
      phases: until(2.5 * HOUR_MS, 'fail'),
      steps: [0, 1, 2, 3, 4, 5].map((number) =>
        alert(number, 54 * MINUTE_MS + 20 * SECOND_MS * number, { notifications: [0, 1] }),
      ),
      stream: { ...noStreamFaults, maxDelayMs: 12 * MINUTE_MS },
      recoveryMs: 2.5 * HOUR_MS,
    }),
    'SES throttles an alert for minutes, whose account has a fallback by SMS': situation({
      types: ['email'],
      phases: until(15 * MINUTE_MS, 'throttle'),
      tenant: { fallback: notificationOf(1, 'sms') },
      steps: [alert(0, SECOND_MS)],
      recoveryMs: 15 * MINUTE_MS,
    }),
    'SES fails for minutes, and an alert goes to two addresses': situation({
      types: ['email', 'email'],
      phases: until(15 * MINUTE_MS, 'fail'),
      tenant: { fallback: notificationOf(2, 'sms') },
      steps: [alert(0, SECOND_MS, { notifications: [0, 1] })],
      recoveryMs: 15 * MINUTE_MS,
    }),
    'some destinations of alerts are muted, or all': situation({
      types: ['webhook', 'incidentpager', 'email'],
      lastPhases: until(HOUR_MS, 'fail'),
      tenant: { fallback: notificationOf(3, 'sms') },
      steps: [
        alert(0, SECOND_MS, { notifications: [1], alarm: 'al' }),
        ...[0, 1].map((notification): Step => mute(10 * SECOND_MS, notification, 10 * MINUTE_MS)),
        alert(1, 20 * SECOND_MS, { notifications: [0, 1] }),
        alert(2, 30 * SECOND_MS, { notifications: [0, 2] }),
        alert(3, 40 * SECOND_MS, { notifications: [1], alarm: 'al', state: 'OK' }),
        alert(4, 50 * SECOND_MS, { notifications: [1], timeMs: 60 * SECOND_MS, alarm: 'later' }),
        mute(55 * SECOND_MS, 1, 0),
        alert(5, 58 * SECOND_MS, { notifications: [1], alarm: 'later' }),
        alert(6, 61 * SECOND_MS, { notifications: [0, 1] }),
        mute(2 * MINUTE_MS, 2, HOUR_MS),
      ],
    }),
    'a webhook hangs': situation({
      types: ['webhook'],
      phases: until(40 * SECOND_MS, 'hang'),
      steps: alertsAt(seconds(1, 2)),
    }),
    'SQS refuses what is redelivered': situation({
      types: ['webhook'],
      phases: until(MINUTE_MS, 'reject'),
      steps: [...alertsAt(seconds(1, 2, 3, 4)), act('redeliver', 2 * MINUTE_MS)],
      rates: { sqsPartial: 0.9 },
    }),
    'an API function is ended while it tests': situation({
      types: ['webhook', 'webhook', 'webhook', 'webhook'],
      steps: seconds(1, 30, 60, 90).map((atMs, notification) => act('test', atMs, notification)),
      frequentFault: { operation: 'lambda.Invoke', kind: 'kill', rate: 0.5 },
    }),
    'a notification is deleted before SQS accepts its alert, which another one has rejected': situation({
      seed: 7,
      types: ['webhook', 'email'],
      phases: until(60 * MINUTE_MS, 'reject'),
      tenant: { fallback: notificationOf(2, 'sms') },
      steps: [alert(0, SECOND_MS, { notifications: [0, 1] }), act('delete', 4 * SECOND_MS, 1)],
      frequentFault: often('error', 'sqs.SendMessageBatch', 0.7, 'dispatch-alarm-events'),
    }),
    'an email notification is deleted while a summary of several states of an alarm waits': situation({
      types: ['email', 'webhook'],
      phases: [
        { fromMs: 0, behavior: 'accept' },
        ...until(60 * MINUTE_MS, 'reject').map((each) => ({ ...each, fromMs: each.fromMs + 2 * SECOND_MS })),
      ],
      tenant: {
        summaries: { email_after: 1, sms_after: 1, window_minutes: 5 },
        fallback: notificationOf(2, 'sms'),
      },
      steps: [
        alert(0, SECOND_MS),
        alert(1, 5 * SECOND_MS, { notifications: [0, 1] }),
        alert(2, 9 * SECOND_MS, { notifications: [0, 1], alarm: 'al1', state: 'WARNING' }),
        act('delete', 30 * SECOND_MS),
      ],
    }),
    'alerts that arrived cannot be recorded': situation({
      types: ['webhook'],
      steps: alertsAt(seconds(1, 10, 20)),
      frequentFault: often('error', 'dynamodb.UpdateItem', 1, 'send-webhook'),
    }),
    'copies of the advance of an incident lock arrive late': situation({
      seed: 2,
      types: ['incidentpager'],
      // The first one keeps dispatch busy, so that the others share a batch.
      steps: incidentsEvery(40 * SECOND_MS, 5, [
        [0, 0],
        [1, 10],
        [2, 30],
        [20 * SECOND_MS, 20],
      ]),
      frequentFault: often('late', 'dynamodb.UpdateItem', 0.3, 'send-incidentpager'),
      concurrency: 1,
    }),
  }),
);

/** @throws Error if there is none */
export const situationNamed = (name: string): Scenario => {
  const found = situations.get(name);
  if (!found) throw new Error(`There is no situation "${name}".`);
  return found;
};
