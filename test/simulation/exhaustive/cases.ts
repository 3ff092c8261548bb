import type { NotificationTypeId } from '../../../shared/contracts/notification-types.ts';
import { duplicatesAreExplained, isUnrecorded } from '../rules/duplicates-are-explained.ts';
import { incidentsAreOrdered } from '../rules/incidents-are-ordered.ts';
import { nothingIsLost } from '../rules/nothing-is-lost.ts';
import { plannedAlerts } from '../rules/planned-alerts.ts';
import type { Observations } from '../world/observations.ts';
import {
  noFaults,
  noStreamFaults,
  type Phase,
  type PlannedEvent,
  type PlannedTenant,
  type Scenario,
  type State,
} from '../world/scenario.ts';

/** A small case: the deliveries of one or two events to one notification. */
export type SmallCase = {
  name: string;
  scenario: Scenario;
  /** Whether SQS delivers the message of the first event to two workers at the start. */
  isDuplicated: boolean;
  /** The maximum number of faults in a path that `npm test` explores. */
  faults: number;
};

const TENANT = 't0';

type CaseOptions = Pick<SmallCase, 'name' | 'isDuplicated' | 'faults'> & {
  type: NotificationTypeId;
  states?: readonly State[];
  tenant?: Partial<PlannedTenant>;
  phases?: readonly Phase[];
};

const accepting: readonly Phase[] = [{ fromMs: 0, behavior: 'accept' }];

const smallCase = ({ name, isDuplicated, faults, type, ...rest }: CaseOptions): SmallCase => {
  const { states = ['CRITICAL'], tenant = {}, phases = accepting } = rest;
  const steps = states.map(
    (state, number): PlannedEvent => ({
      kind: 'event',
      atMs: 0,
      tenant: TENANT,
      number,
      alarm: 'al0',
      state,
      timeMs: 1_000 * (number - states.length),
      notifications: [0],
      repeatsAfterMs: [],
    }),
  );
  return {
    name,
    isDuplicated,
    faults,
    scenario: {
      seed: 1,
      tenants: [
        {
          name: TENANT,
          kind: 'ordinary',
          contacts: [],
          summaries: undefined,
          limits: {},
          notifications: [{ index: 0, key: 'd0', type, phases }],
          fallback: undefined,
          ...tenant,
        },
      ],
      steps,
      rates: noFaults,
      frequentFault: undefined,
      outages: [],
      emailReports: 0,
      privateWebhooks: [],
      maxSkewMs: 0,
      stream: noStreamFaults,
      hasOutcomes: false,
      concurrency: 2,
      replicationLagMs: 0,
      recoveryMs: 0,
    },
  };
};

/** The small cases. */
export const smallCases: readonly SmallCase[] = [
  smallCase({ name: 'a webhook', type: 'webhook', isDuplicated: true, faults: 1 }),
  smallCase({
    name: 'a webhook that fails at first',
    type: 'webhook',
    isDuplicated: true,
    faults: 1,
    phases: [
      { fromMs: 0, behavior: 'fail' },
      { fromMs: 1_000, behavior: 'accept' },
    ],
  }),
  smallCase({
    name: 'a webhook that rejects',
    type: 'webhook',
    isDuplicated: false,
    faults: 1,
    phases: [{ fromMs: 0, behavior: 'reject' }],
    tenant: { contacts: [{ address: 'contact-t0@people.test', phases: accepting }] },
  }),
  smallCase({ name: 'an email', type: 'email', isDuplicated: true, faults: 1 }),
  smallCase({
    name: 'two emails, one summarized',
    type: 'email',
    isDuplicated: false,
    faults: 1,
    states: ['CRITICAL', 'WARNING'],
    tenant: { summaries: { email_after: 1, sms_after: 1, window_minutes: 5 } },
  }),
  smallCase({
    name: 'an incident that is resolved',
    type: 'incidentpager',
    isDuplicated: false,
    faults: 1,
    states: ['CRITICAL', 'OK'],
  }),
];

/** Everything ends: no message is left, no function fails, and each alert has one record, which is final. */
const everythingEnds = ({ scenario, history, left, failures }: Observations): string[] => [
  ...(left > 0 ? [`${left} queues still have messages.`] : []),
  ...failures,
  ...plannedAlerts(scenario).flatMap(({ event }) => {
    const statuses = history
      .filter(({ event_id }) => event_id.includes(`:ch${event.number}:`))
      .map(({ status }) => status);
    return statuses.length === 1 && statuses[0] !== 'pending'
      ? []
      : [`#${event.number}# is ${statuses.join(' and ') || 'not recorded'}.`];
  }),
];

/** A rejected alert is in a dead-letter queue, once unless its sender had no answer or was ended, and its contact knows. */
const rejectionIsReported = ({ scenario, deadLetters, arrivals, faults }: Observations): string[] => {
  const letters = [...deadLetters.values()].flat().length;
  const isRepeated = faults.some(({ kind }) => kind === 'and killed' || kind === 'without response');
  const [tenant] = scenario.tenants;
  const isNotified = arrivals.some(({ to, kind }) => kind === 'notice' && to === tenant?.contacts[0]?.address);
  return [
    ...(letters === 1 || (letters > 1 && isRepeated) ? [] : [`There are ${letters} dead letters.`]),
    ...(isNotified ? [] : ['The contact has no notice.']),
  ];
};

/** As many alerts as the account wants are sent at once, the others are summarized. */
const firstAlertsAreSentAtOnce = ({ scenario, arrivals }: Observations): string[] =>
  scenario.tenants.flatMap(({ summaries }) => {
    const atOnce = arrivals.filter(({ kind }) => kind === 'alert').length;
    return summaries && atOnce < summaries.email_after ? [`${atOnce} alerts were sent at once.`] : [];
  });

/** Each attempt is in the record, unless its worker got no answer, or was ended before it recorded the attempt. */
const attemptsAreRecorded = (observations: Observations): string[] => {
  const { arrivals, refusals, kills, history } = observations;
  const recorded = history.reduce((sum, { attempts }) => sum + attempts.length, 0);
  const accepted = arrivals.filter((arrival) => arrival.kind === 'alert' && !isUnrecorded(arrival, observations));
  const made = accepted.length + refusals.length;
  return kills.length === 0 && recorded < made ? [`${made} attempts were made, and ${recorded} are recorded.`] : [];
};

/** Returns what a path violates. */
export const violationsOfPath = (observations: Observations): string[] => {
  const isRejected = observations.refusals.some(({ behavior }) => behavior === 'reject');
  return [
    ...(isRejected ? rejectionIsReported(observations) : nothingIsLost.violations(observations)),
    ...duplicatesAreExplained.violations(observations),
    ...incidentsAreOrdered.violations(observations),
    ...everythingEnds(observations),
    ...attemptsAreRecorded(observations),
    ...firstAlertsAreSentAtOnce(observations),
    ...observations.notRedelivered,
  ];
};
