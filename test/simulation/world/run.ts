import { filterCriteria } from 'local-aws/lambda/event-filter.ts';
import { createEmailEventPublisher } from 'local-aws/ses-events.ts';
import type { Plan } from 'local-aws/template.ts';
import { streamFilters } from '../../../lib/stream-filters.ts';
import { contexts } from '../engine/context.ts';
import { randomOf } from '../engine/random.ts';
import { ROOT, type ServiceCode } from '../engine/service-code.ts';
import { SimulatedStack, START_MS } from '../engine/stack.ts';
import { createAccountReader } from './account-reader.ts';
import { eventBody, occupyingBody } from './alarm-events.ts';
import { createEmailReports } from './email-reports.ts';
import { createFaults, createStreamFaults } from './faults.ts';
import {
  type HistoryEntry,
  type Invocation,
  type Observations,
  outcomeSchema,
  type PublishedOutcome,
  type Redrive,
  type ShadowPeriod,
} from './observations.ts';
import { createOperators, lettersIn } from './operators.ts';
import { createPeople } from './people.ts';
import { createReceivers, detailsOf, PRIVATE_HOST } from './receivers.ts';
import {
  notificationsOf,
  type Operation,
  type PlannedNotification,
  type PlannedTenant,
  type Scenario,
  type Step,
} from './scenario.ts';

export type RunOptions = {
  scenario: Scenario;
  code: ServiceCode;
  plan: Plan;
  /** Whether the AWS SDK serializes all requests and responses. */
  isSerialized: boolean;
  trace?: (line: string) => void;
};

/** A body of `webhook_request` with the fields of the usual body, and texts for people, which rules read. */
const PAYLOAD_AS_BODY = {
  ...Object.fromEntries(
    ['event_id', 'log_entry_id', 'details', 'entity', 'check', 'alarm', 'tenant_id'].map((name) => [
      name,
      `{{${name}}}`,
    ]),
  ),
  texts: ['{{alert.title}}', '{{alert.url}}'],
};

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/**
 * After the last event, a delivery ends after 24 h; a message without an attempt after four days; the last of eight
 * summaries, at one email a day, after eight.
 */
const MAX_ENDING_MS = 10 * 24 * HOUR_MS;

/** Returns the time from which all destinations accept, ms since the start. */
const allAcceptFromMs = ({ tenants }: Scenario): number =>
  Math.max(
    ...tenants.flatMap(({ contacts, notifications }) =>
      [...contacts, ...notifications].map(({ phases }) => phases.at(-1)?.fromMs ?? 0),
    ),
  );

/** Returns when the last event or repeat is sent, ms since the start. */
const lastEventMs = ({ steps }: Scenario): number =>
  Math.max(
    ...steps.map((step) => (step.kind === 'event' ? step.atMs + Math.max(0, ...step.repeatsAfterMs) : step.atMs)),
  );

/** Returns a template with a value of an environment variable for the functions that have it. */
const withVariable = (plan: Plan, name: string, value: string): Plan => ({
  ...plan,
  functions: plan.functions.map((each) => ({
    ...each,
    environment: each.environment[name] ? { ...each.environment, [name]: value } : each.environment,
  })),
});

/** Returns a template without the setting `deliveryOutcomes`. */
const withoutOutcomes = (plan: Plan): Plan => ({
  ...withVariable(plan, 'DELIVERY_OUTCOMES', 'false'),
  streamSources: plan.streamSources.map((source) => ({
    ...source,
    filters: filterCriteria.parse({
      Filters: streamFilters(false).map((pattern) => ({ Pattern: JSON.stringify(pattern) })),
    }),
  })),
});

/** Returns a template with another maximum number of concurrent batches of reports. */
const withReporters = (plan: Plan, reporters: number): Plan => ({
  ...plan,
  eventSources: plan.eventSources.map((source) =>
    source.functionName.endsWith('report-deliveries') ? { ...source, maxConcurrency: reporters } : source,
  ),
});

export const runScenario = async ({
  scenario,
  code,
  plan,
  isSerialized,
  trace = () => undefined,
}: RunOptions): Promise<Observations> => {
  const { seed, tenants, rates, recoveryMs } = scenario;
  const { hasOutcomes, escalations = 'contacts+managed' } = scenario;
  const planned = withVariable(hasOutcomes ? plan : withoutOutcomes(plan), 'ESCALATE_UNREACHED', escalations);
  const outcomesTopicArn = plan.topicArns.find((arn) => arn.endsWith('Outcomes'));
  let isFaulty = false;
  const nowMs = (): number => stack.time.now() - startMs;
  const traced = (line: string): void => trace(`${stack.time.now() - START_MS} ${line.replaceAll(ROOT, '')}`);
  const receivers = createReceivers({
    scenario,
    nowMs,
    random: randomOf(seed, 'receivers'),
    trace: traced,
    onReceived: (by) => faults.onReceived(by),
  });
  const faults = createFaults({
    rates,
    outages: scenario.outages,
    frequentFault: scenario.frequentFault,
    sendingRate: scenario.sendingRate,
    random: randomOf(seed, 'faults'),
    outageRandom: randomOf(seed, 'outages after a send'),
    frequentFaultRandom: randomOf(seed, 'frequent faults'),
    receivers,
    isActive: () => isFaulty && nowMs() < recoveryMs,
    nowMs,
  });
  const emailReports = createEmailReports({
    rateOf: (name) => {
      const { kind, emailReports: own } = tenants.find((tenant) => tenant.name === name) ?? {};
      return own ?? (kind === 'quiet' ? 0 : scenario.emailReports);
    },
    behaviorOf: receivers.behaviorOf,
    random: randomOf(seed, 'email reports'),
    subtypeRandom: randomOf(seed, 'subtypes of email reports'),
    progressRandom: randomOf(seed, 'email deliveries'),
    isActive: () => isFaulty && nowMs() < recoveryMs,
    nowMs,
    startMs: () => startMs,
    publish: (event, afterMs) => stack.time.after(afterMs, () => publishEmailEvent(event)),
  });
  const stream = createStreamFaults({
    faults: scenario.stream,
    random: randomOf(seed, 'stream batches'),
    isActive: () => isFaulty && nowMs() < recoveryMs,
    nowMs,
    wait: (ms) => new Promise((resolve) => stack.time.after(ms, () => resolve(undefined))),
  });
  const invocations: Invocation[] = [];
  const outcomes: PublishedOutcome[] = [];
  let reportsGivenUp = 0;
  const logs: string[] = [];
  const stack: SimulatedStack = new SimulatedStack({
    seed,
    code,
    plan: scenario.reporters === undefined ? planned : withReporters(planned, scenario.reporters),
    isSerialized,
    maxSkewMs: scenario.maxSkewMs,
    concurrency: scenario.concurrency,
    replicationLagMs: scenario.replicationLagMs,
    beforeStreamBatch: stream.beforeBatch,
    alterStreamRecord: stream.alterRecord,
    onGivenUp: () => reportsGivenUp++,
    maxDuplicates: scenario.steps.length,
    duplicateReceives: () => (isFaulty && nowMs() < recoveryMs ? rates.duplicateReceives : 0),
    internet: {
      resolve: (hostname) => [
        { address: '93.184.216.34', family: 4 },
        ...(hostname === PRIVATE_HOST && nowMs() < recoveryMs ? [{ address: '10.0.0.1', family: 4 }] : []),
      ],
      send: (request, by) => receivers.receive(request, by),
    },
    fateOf: faults.fateOf,
    withSqsFaults: faults.withPartialBatches,
    onEmail(email, call) {
      const { to, numbers, kind } = receivers.receiveEmail(email, call.caller, faults.isAnswered(call));
      emailReports.onAccepted(call, email.to[0] ?? '', { to, numbers, of: kind });
    },
    onMessage(message, call) {
      if (message.to === 'topic' && message.topicArn === outcomesTopicArn) {
        outcomes.push({ ...outcomeSchema.parse(JSON.parse(message.text)), attributes: message.attributes });
      } else receivers.receiveMessage(message, call.caller, faults.isAnswered(call));
    },
    onLog(name, text) {
      logs.push(text.trim());
      traced(`${name}: ${text.trim()}`);
    },
    onInvocation: (environmentId, text) => invocations.push({ environmentId, atMs: nowMs(), text }),
    onDynamoDbCall: faults.onDynamoDbCall,
    trace: traced,
  });
  const publishEmailEvent = createEmailEventPublisher(plan, [...stack.queues.values()]);
  let startMs = START_MS;
  const ids = new Map<number, string>();
  const tokens = new Map<string, string>();
  const operators = contexts.run(stack.world, () => createOperators(stack));
  const redrives: Redrive[] = [];
  const shadows: ShadowPeriod[] = [];

  const tokenOf = (tenant: string): string => tokens.get(tenant) ?? '';
  const idOf = (index: number): string => ids.get(index) ?? '';

  const { arrivals } = receivers;
  const people = createPeople({ stack, tokenOf, idOf, arrivals, nowMs, trace: traced });
  const { readCredentials, readHistory, searchEvents, readFailures, readAudits, readLabels } = createAccountReader({
    stack,
    tenants,
    tokenOf,
    idOf,
  });

  const create = async (tenant: PlannedTenant, notification: PlannedNotification): Promise<void> => {
    const response = await stack.request({
      method: 'POST',
      path: '/notifications',
      token: tokenOf(tenant.name),
      body: {
        label: notification.key,
        type: notification.type,
        details: detailsOf(notification, scenario.privateWebhooks.includes(notification.index)),
        ordered: notification.isOrdered,
        webhook_request: notification.hasOwnBody && { body: PAYLOAD_AS_BODY },
      },
    });
    const id = response.headers.location?.split('/').at(-1);
    if (response.status !== 201 || id === undefined) throw new Error(`Not created: ${JSON.stringify(response)}`);
    ids.set(notification.index, id);
  };

  const setUp = async (): Promise<void> => {
    for (const tenant of tenants) {
      tokens.set(tenant.name, await operators.issueToken(tenant.name));
      await Promise.all(notificationsOf(tenant).map((each) => create(tenant, each)));
      await operators.setUp(tenant, tenant.fallback && idOf(tenant.fallback.index));
    }
  };

  const send = (body: string, tenant: string): void => {
    stack.queue('Delivery-AlarmEvents').send({ body, attributes: new Map(), groupId: tenant, senderId: 'pipeline' });
  };

  const operate = async (operation: Operation): Promise<void> => {
    const startedMs = nowMs();
    switch (operation.kind) {
      case 'recycle':
        stack.lambda.recycle();
        break;
      case 'redrive':
        redrives.push({ startedMs, letters: await operators.redrive() });
        break;
      case 'limits':
        await operators.limit(operation.tenant, operation.limits);
        break;
      case 'shadow':
        await operators.shadow(operation.tenant, operation.lengthMs);
        shadows.push({ tenant: operation.tenant, startedMs, fromMs: nowMs(), untilMs: startedMs + operation.lengthMs });
    }
    traced(`operator ${operation.kind}`);
  };

  const perform = (step: Step): void => {
    if (step.kind === 'recycle' || step.kind === 'redrive' || step.kind === 'shadow' || step.kind === 'limits') {
      // With faults of DynamoDB or SQS, it has no effect.
      operate(step).catch(() => undefined);
      return;
    }
    if (step.kind === 'invalid') {
      send(step.body, step.tenant);
      return;
    }
    if (step.kind === 'occupy') {
      send(occupyingBody(step, ids, stack.time.now()), step.tenant);
      return;
    }
    if (step.kind !== 'event') {
      void people.act(step);
      return;
    }
    const { alteredAfterMs } = step;
    if (alteredAfterMs !== undefined)
      stack.time.after(alteredAfterMs, () => send(eventBody(step, ids, true), step.tenant));
    const body = eventBody(step, ids);
    for (const delayMs of [0, ...step.repeatsAfterMs]) stack.time.after(delayMs, () => send(body, step.tenant));
  };

  /** Returns the queues that still have messages, other than dead letters. */
  const waiting = () =>
    [...stack.queues.values()].filter(
      ({ settings, counts }) =>
        !settings.name.includes('DeadLetters') && counts.visible + counts.delayed + counts.inFlight > 0,
    );
  const isIdle = (): boolean => stack.isIdle && waiting().length === 0 && emailReports.isIdle();

  /** Redelivers whatever failed, once all destinations accept. Returns what was not redelivered. */
  const redeliverAll = async (found: readonly HistoryEntry[]): Promise<string[]> => {
    const notRedelivered: string[] = [];
    for (const { name, notifications } of tenants)
      for (const { index, key } of notifications) {
        const failed = found.filter((entry) => entry.notification === index && entry.status === 'failed');
        const body = { since: 0 };
        const request = { method: 'POST', path: `/notifications/${idOf(index)}/redeliver`, token: tokenOf(name), body };
        if (failed.length === 0) continue;
        // An alert can arrive before the response.
        const startedMs = nowMs();
        const response = await stack.request(request);
        const { status, body: text } = response;
        const action = { kind: 'redeliver', atMs: startedMs, tenant: name, notification: index } as const;
        people.requests.push({ action, startedMs, endedMs: nowMs(), responses: [response] });
        // Deleted meanwhile.
        if (status === 404) continue;
        const { count = 0 }: { count?: number } = status === 202 ? JSON.parse(text) : {};
        if (count < failed.length) notRedelivered.push(`${count} of ${failed.length} of ${key} (${status})`);
      }
    return notRedelivered;
  };

  /** Runs until a promise settles. */
  const settled = async <Value>(promise: Promise<Value>): Promise<Value> => {
    let isSettled = false;
    const end = (): void => {
      isSettled = true;
    };
    promise.then(end, end);
    await stack.time.run(stack.time.now() + HOUR_MS, () => isSettled);
    if (!isSettled) throw new Error('A request of the simulation does not end.');
    return promise;
  };

  return contexts.run(stack.world, async () => {
    stack.createTables();
    await settled(setUp());
    const credentials = await settled(readCredentials());
    stack.start();
    startMs = stack.time.now();
    isFaulty = true;
    for (const dynamodb of [stack.dynamodb, stack.replica])
      dynamodb.throttle({ partitionKey: () => faults.isKeyThrottled() });
    stack.dynamodb.conflict({
      operation: 'write',
      partitionKey: (key) => /^(notification|quota)#/.test(key) && faults.isConflict(),
    });
    const maxMs = lastEventMs(scenario) + MAX_ENDING_MS;
    for (const step of scenario.steps) stack.time.after(step.atMs, () => perform(step));
    await stack.time.run(startMs + Math.max(recoveryMs * 1.3, lastEventMs(scenario) + MINUTE_MS));
    while (!isIdle() && nowMs() < maxMs) await stack.time.run(stack.time.now() + 10 * MINUTE_MS, isIdle);
    const earlierHistory = await settled(readHistory());
    const failingNotifications = await settled(readFailures());
    const redeliveredMs = nowMs();
    // All destinations accept, and the clocks of the API agree that the failures were before.
    await stack.time.run(startMs + allAcceptFromMs(scenario) + MINUTE_MS);
    const requestCount = people.requests.length;
    const notRedelivered = await settled(redeliverAll(earlierHistory));
    while (!isIdle() && nowMs() < maxMs) await stack.time.run(stack.time.now() + 10 * MINUTE_MS, isIdle);
    const history = people.requests.length > requestCount ? await settled(readHistory()) : earlierHistory;
    const foundEvents = await settled(searchEvents(history));
    const audits = await settled(readAudits());
    const labels = await settled(readLabels());
    stack.stop();
    const endedMs = nowMs();
    const deadLetters = [...stack.queues].filter(([name]) => name.includes('DeadLetters'));
    return {
      scenario,
      arrivals: receivers.arrivals,
      refusals: receivers.refusals,
      requests: receivers.requests,
      faults: faults.injected,
      duplicated: stack.duplicated,
      kills: stack.lambda.kills.map((kill) => ({ ...kill, atMs: kill.atMs - startMs })),
      people: people.requests,
      history,
      foundEvents,
      earlierHistory,
      failingNotifications,
      redeliveredMs,
      audits,
      labels,
      credentials,
      emailReports: emailReports.reports,
      emailProgress: emailReports.progress,
      emails: emailReports.accepted,
      redrives,
      shadows,
      deadLetters: new Map(
        deadLetters.map(([name, queue]) => [
          name,
          [...redrives.flatMap(({ letters }) => letters.get(name) ?? []), ...lettersIn(queue)],
        ]),
      ),
      ids,
      left: waiting().reduce((sum, { messages }) => sum + messages.length, 0),
      logs,
      startMs,
      failures: stack.lambda.failures,
      notRedelivered,
      endedMs,
      invocations,
      outcomes,
      reportsGivenUp,
    };
  });
};
