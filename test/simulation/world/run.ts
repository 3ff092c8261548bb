import type { Plan } from 'local-aws/template.ts';
import { z } from 'zod';
import { contexts } from '../engine/context.ts';
import { randomOf } from '../engine/random.ts';
import type { ServiceCode } from '../engine/service-code.ts';
import { type ApiRequest, type ApiResponse, SimulatedStack, START_MS } from '../engine/stack.ts';
import { createEmailReports, type EmailReport } from './email-reports.ts';
import { createFaults, type InjectedFault } from './faults.ts';
import type { Operation } from './operations.ts';
import { createOperators, type DeadLetter, lettersIn } from './operators.ts';
import {
  type Arrival,
  createReceivers,
  detailsOf,
  PRIVATE_HOST,
  type ReceivedRequest,
  type Refusal,
} from './receivers.ts';
import {
  notificationsOf,
  type OccupyingEvent,
  type PersonAction,
  type PlannedEvent,
  type PlannedNotification,
  type PlannedTenant,
  type Scenario,
  type Step,
} from './scenario.ts';

/** What a person did: each request with its response, and when it ended, in ms since the start. */
export type PersonRequest = {
  action: PersonAction;
  startedMs: number;
  endedMs: number;
  responses: readonly ApiResponse[];
};

const historyEntry = z.object({
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
});

/** A record of a delivery as the history shows it. Its times are ms since the epoch. */
export type HistoryEntry = z.infer<typeof historyEntry> & { notification: number };

const auditEntry = z.object({
  action: z.string(),
  target_id: z.string().nullish(),
  actor: z.object({ type: z.string() }),
});

/** An audit entry of a tenant. */
export type AuditEntry = z.infer<typeof auditEntry> & { tenant: string };

const credentials = z.object({ webhook_token: z.string(), webhook_signing_secrets: z.array(z.string()) });

/** The credentials of an account. */
export type Credentials = z.infer<typeof credentials> & { token: string };

/** Dead letters that the operators moved to their queues, by the name of the dead-letter queue. */
export type Redrive = { startedMs: number; letters: ReadonlyMap<string, readonly DeadLetter[]> };

/** A period of shadow mode. Events are withheld from `startedMs` on, and at least from `fromMs` on. */
export type ShadowPeriod = { tenant: string; startedMs: number; fromMs: number; untilMs: number };

/** What is known after a run, for its rules. Times are ms since the start of the scenario. */
export type Observations = {
  scenario: Scenario;
  arrivals: readonly Arrival[];
  refusals: readonly Refusal[];
  requests: readonly ReceivedRequest[];
  faults: readonly InjectedFault[];
  kills: readonly { functionName: string; environmentId: string; atMs: number }[];
  people: readonly PersonRequest[];
  history: readonly HistoryEntry[];
  /** The history when everything had ended, before what had failed was redelivered. */
  earlierHistory: readonly HistoryEntry[];
  /** When that was. */
  redeliveredMs: number;
  audits: readonly AuditEntry[];
  /** The credentials of each account at the start, with its token for the API. */
  credentials: ReadonlyMap<string, Credentials>;
  emailReports: readonly EmailReport[];
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
  /** The lines that functions logged. */
  logs: readonly string[];
  /** When the scenario started, ms since the epoch. */
  startMs: number;
  /** The errors that functions threw. */
  failures: readonly string[];
  endedMs: number;
  invocations: number;
};

/** Options of a run. */
export type RunOptions = {
  scenario: Scenario;
  code: ServiceCode;
  plan: Plan;
  /** Called with each line of the trace. */
  trace?: (line: string) => void;
  /** How many of the steps happen. Default: all. */
  steps?: number;
};

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** A delivery ends after 24 h; a message without an attempt after four days. */
const MAX_MS = 5 * 24 * HOUR_MS;

/** Returns the ID of an event. */
export const eventIdOf = ({ tenant, alarm, timeMs, state, number }: PlannedEvent): string =>
  `${tenant}:en:${alarm}:ch${number}:${START_MS + timeMs}:${state}`;

/** Returns an event as a producer sends it. @param isAltered true if it is another one with the same ID */
export const eventBody = (event: PlannedEvent, ids: ReadonlyMap<number, string>, isAltered = false): string => {
  const { tenant, number, alarm, state, timeMs, notifications, paddingBytes = 0 } = event;
  const list = { OK: 'ok_state', WARNING: 'warning_state', CRITICAL: 'critical_state' }[state];
  return JSON.stringify({
    event_id: eventIdOf(event),
    log_entry_id: `log-${number}`,
    tenant_id: tenant,
    details: {
      target: 'web.test',
      timestamp: START_MS + timeMs,
      state,
      status: 'simulated',
      metrics: {},
      observations: [],
    },
    entity: {
      id: 'en',
      label: `host-${tenant}`,
      ip_addresses: { default: '192.0.2.1' },
      ...(paddingBytes > 0 && { metadata: { padding: 'x'.repeat(paddingBytes) } }),
    },
    check: { id: 'ch', label: 'Check', type: 'agent.filesystem' },
    alarm: { id: alarm, label: `${alarm} ${isAltered ? 'altered' : `#${number}#`}`, active_suppressions: [] },
    previous_state: null,
    notification_plan: { id: 'np', [list]: notifications.map((index) => ids.get(index) ?? `ntUnknown${index}`) },
  });
};

/** Returns an event with the ID of the summary that a notification gets. */
const occupyingBody = (
  { tenant, notification, windowMinutes }: OccupyingEvent,
  ids: ReadonlyMap<number, string>,
  nowMs: number,
): string => {
  const lengthMs = windowMinutes * MINUTE_MS;
  const id = ids.get(notification) ?? '';
  return JSON.stringify({
    event_id: `${tenant}:${id}-${windowMinutes}m:${nowMs - (nowMs % lengthMs)}:summary`,
    tenant_id: tenant,
    details: { state: 'OK' },
    entity: { id: 'en' },
    alarm: { id: 'occupied' },
    notification_plan: { ok_state: [id] },
  });
};

/** Returns the time from which all destinations accept, ms since the start. */
const allAcceptFromMs = ({ tenants }: Scenario): number =>
  Math.max(
    ...tenants.flatMap(({ contacts, notifications }) =>
      [...contacts, ...notifications].map(({ phases }) => phases.at(-1)?.fromMs ?? 0),
    ),
  );

/** Runs a scenario. */
export const runScenario = async ({
  scenario,
  code,
  plan,
  trace = () => undefined,
  steps,
}: RunOptions): Promise<Observations> => {
  const { seed, tenants, rates, recoveryMs } = scenario;
  let isFaulty = false;
  const nowMs = (): number => stack.time.now() - startMs;
  const traced = (line: string): void => trace(`${stack.time.now() - START_MS} ${line}`);
  const receivers = createReceivers({ scenario, nowMs, random: randomOf(seed, 'receivers'), trace: traced });
  const faults = createFaults({
    rates,
    outages: scenario.outages,
    random: randomOf(seed, 'faults'),
    receivers,
    isActive: () => isFaulty && nowMs() < recoveryMs,
    nowMs,
  });
  const quiet = tenants.filter(({ kind }) => kind === 'quiet');
  const emailReports = createEmailReports({
    rate: scenario.emailReports,
    random: randomOf(seed, 'email reports'),
    isActive: () => isFaulty && nowMs() < recoveryMs,
    nowMs,
    send: (body, afterMs) => {
      stack.time.after(afterMs, () => {
        stack.queue('EmailEvents-Queue').send({ body, attributes: new Map(), senderId: 'events' });
      });
    },
  });
  let invocations = 0;
  const logs: string[] = [];
  const stack: SimulatedStack = new SimulatedStack({
    seed,
    code,
    plan,
    maxSkewMs: scenario.maxSkewMs,
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
      const isQuiet = quiet.some(({ contacts, notifications }) =>
        [...contacts.map(({ address }) => address), ...notifications.map(({ key }) => key)].includes(to),
      );
      if (!isQuiet) emailReports.onAccepted(call, email.to[0] ?? '', { to, numbers, of: kind });
    },
    onMessage: (message, call) => receivers.receiveMessage(message, call.caller, faults.isAnswered(call)),
    onLog(name, text) {
      logs.push(text.trim());
      traced(`${name}: ${text.trim()}`);
    },
    onInvocation: () => {
      invocations++;
    },
    trace: traced,
  });
  let startMs = START_MS;
  const ids = new Map<number, string>();
  const tokens = new Map<string, string>();
  const operators = contexts.run(stack.world, () => createOperators(stack));
  const people: PersonRequest[] = [];

  const redrives: Redrive[] = [];
  const shadows: ShadowPeriod[] = [];

  const tokenOf = (tenant: string): string => tokens.get(tenant) ?? '';
  const accountRequest = (tenant: string) => ({ method: 'GET', path: '/account', token: tokenOf(tenant) });
  const idOf = (index: number): string => ids.get(index) ?? '';

  const create = async (tenant: PlannedTenant, notification: PlannedNotification): Promise<void> => {
    const response = await stack.request({
      method: 'POST',
      path: '/notifications',
      token: tokenOf(tenant.name),
      body: {
        label: notification.key,
        type: notification.type,
        details: detailsOf(notification, scenario.privateWebhooks.includes(notification.index)),
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

  const requestOf = (action: Exclude<PersonAction, { kind: 'revoke' }>) => {
    const token = tokenOf(action.tenant);
    switch (action.kind) {
      case 'delete':
        return { method: 'DELETE', path: `/notifications/${idOf(action.notification)}`, token };
      case 'relabel':
        return {
          method: 'PUT',
          path: `/notifications/${idOf(action.notification)}`,
          token,
          body: { label: `d${action.notification} at ${action.atMs}` },
        };
      case 'redeliver':
        return {
          method: 'POST',
          path: `/notifications/${idOf(action.notification)}/redeliver`,
          token,
          body: { since: 0 },
        };
      case 'retry-now':
        return {
          method: 'POST',
          path: `/notifications/${idOf(action.notification)}/redeliver`,
          token,
          body: { status: 'pending' },
        };
      case 'summaries':
        return { method: 'PUT', path: '/account', token, body: { summaries: action.summaries ?? {} } };
      case 'rotate':
        return { method: 'POST', path: '/account/rotate-signing-secret', token };
      case 'test':
        return { method: 'POST', path: `/notifications/${idOf(action.notification)}/test`, token, body: {} };
      case 'token':
        return { method: 'POST', path: '/tokens', token, body: { label: 'another', role: 'observer' } };
    }
  };

  /** Sends the request of a person, again after a 5xx until it succeeds. */
  const insist = async (request: ApiRequest, tries: number): Promise<ApiResponse[]> => {
    const responses: ApiResponse[] = [];
    for (let attempt = 0; attempt < tries; attempt++) {
      const response = await stack.request(request);
      responses.push(response);
      traced(`${request.method} ${request.path}: ${response.status}`);
      if (response.status < 500) break;
      await new Promise((resolve) => setTimeout(resolve, 1_000));
    }
    return responses;
  };

  const act = async (action: Exclude<PersonAction, { kind: 'revoke' }>): Promise<void> => {
    const startedMs = nowMs();
    const request = requestOf(action);
    // Sometimes two people rotate the secret at the same time. The account then shows which secrets sign.
    const isTwice = action.kind === 'rotate' && action.atMs % 2 === 0;
    const requests = isTwice ? [request, request] : [request];
    const responses = await Promise.all(requests.map((each) => insist(each, action.kind === 'test' ? 1 : 5)));
    const account = isTwice ? await insist(accountRequest(action.tenant), 1) : [];
    people.push({ action, startedMs, endedMs: nowMs(), responses: [...responses.flat(), ...account] });
  };

  /** Creates a token, revokes it, and asks for another one with it. The last response is that to the revoked token. */
  const revoke = async (action: Extract<PersonAction, { kind: 'revoke' }>): Promise<void> => {
    const startedMs = nowMs();
    const token = tokenOf(action.tenant);
    const create = (by: string) => ({
      method: 'POST',
      path: '/tokens',
      token: by,
      body: { label: 'x', role: 'admin' },
    });
    const created = (await insist(create(token), 1))[0];
    if (created?.status !== 201) return;
    const { id, token: secret }: { id: string; token: string } = JSON.parse(created.body);
    const used = await insist(create(secret), 1);
    const revoked = (await insist({ method: 'DELETE', path: `/tokens/${id}`, token }, 5)).at(-1);
    if (revoked?.status !== 204) return;
    const responses = await insist(create(secret), 3);
    people.push({ action, startedMs, endedMs: nowMs(), responses: [created, ...used, revoked, ...responses] });
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
      case 'shadow':
        await operators.shadow(operation.tenant, operation.lengthMs);
        shadows.push({ tenant: operation.tenant, startedMs, fromMs: nowMs(), untilMs: startedMs + operation.lengthMs });
    }
    traced(`operator ${operation.kind}`);
  };

  const perform = (step: Step): void => {
    if (step.kind === 'recycle' || step.kind === 'redrive' || step.kind === 'shadow') {
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
    if (step.kind === 'revoke') {
      void revoke(step);
      return;
    }
    if (step.kind !== 'event') {
      void act(step);
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
  const isIdle = (): boolean => stack.lambda.busy.length === 0 && waiting().length === 0;

  const collection = async (tenant: string, path: string): Promise<unknown[]> => {
    const values: unknown[] = [];
    let marker = '';
    do {
      const response = await stack.request({
        method: 'GET',
        path: `${path}${path.includes('?') ? '&' : '?'}limit=1000${marker && `&marker=${encodeURIComponent(marker)}`}`,
        token: tokenOf(tenant),
      });
      if (response.status === 404) return values;
      if (response.status !== 200) throw new Error(`${path}: ${response.status} ${response.body}`);
      const page: { values: unknown[]; metadata: { next_marker: string | null } } = JSON.parse(response.body);
      values.push(...page.values);
      marker = page.metadata.next_marker ?? '';
    } while (marker !== '');
    return values;
  };

  const readCredentials = async (): Promise<ReadonlyMap<string, Credentials>> => {
    const found = new Map<string, Credentials>();
    for (const { name } of tenants) {
      const token = tokenOf(name);
      const { body } = await stack.request({ method: 'GET', path: '/account', token });
      found.set(name, { ...credentials.parse(JSON.parse(body)), token });
    }
    return found;
  };

  const readHistory = async (): Promise<HistoryEntry[]> => {
    const history: HistoryEntry[] = [];
    for (const tenant of tenants)
      for (const { index } of notificationsOf(tenant)) {
        const entries = await collection(tenant.name, `/notifications/${idOf(index)}/deliveries`);
        history.push(...entries.map((entry) => ({ ...historyEntry.parse(entry), notification: index })));
      }
    return history;
  };

  const readAudits = async (): Promise<AuditEntry[]> => {
    const audits: AuditEntry[] = [];
    for (const { name } of tenants) {
      const entries = await collection(name, '/audits');
      audits.push(...entries.map((entry) => ({ ...auditEntry.parse(entry), tenant: name })));
    }
    return audits;
  };

  /** Redelivers whatever failed, once all destinations accept. Returns what was not redelivered. */
  const redeliverAll = async (): Promise<string[]> => {
    const notRedelivered: string[] = [];
    for (const { name, notifications } of tenants)
      for (const { index, key } of notifications) {
        const entries = await collection(name, `/notifications/${idOf(index)}/deliveries?status=failed`);
        const body = { since: 0 };
        const request = { method: 'POST', path: `/notifications/${idOf(index)}/redeliver`, token: tokenOf(name), body };
        if (entries.length === 0) continue;
        const response = await stack.request(request);
        const { status, body: text } = response;
        const action = { kind: 'redeliver', atMs: nowMs(), tenant: name, notification: index } as const;
        people.push({ action, startedMs: nowMs(), endedMs: nowMs(), responses: [response] });
        // Deleted meanwhile.
        if (status === 404) continue;
        const { count = 0 }: { count?: number } = status === 202 ? JSON.parse(text) : {};
        // A bounced delivery that failed at another recipient is redelivered, too.
        if (count < entries.length) notRedelivered.push(`${count} of ${entries.length} of ${key} (${status})`);
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
    stack.dynamodb.throttle({ partitionKey: () => faults.isKeyThrottled() });
    stack.dynamodb.conflict({
      operation: 'write',
      partitionKey: (key) => /^(notification|quota)#/.test(key) && faults.isConflict(),
    });
    for (const step of scenario.steps.slice(0, steps)) stack.time.after(step.atMs, () => perform(step));
    await stack.time.run(startMs + recoveryMs * 1.3);
    while (!isIdle() && nowMs() < MAX_MS) await stack.time.run(stack.time.now() + 10 * MINUTE_MS, isIdle);
    const earlierHistory = await settled(readHistory());
    const redeliveredMs = nowMs();
    // All destinations accept, and the clocks of the API agree that the failures were before.
    await stack.time.run(startMs + allAcceptFromMs(scenario) + MINUTE_MS);
    const failed = await settled(redeliverAll());
    while (!isIdle() && nowMs() < MAX_MS) await stack.time.run(stack.time.now() + 10 * MINUTE_MS, isIdle);
    const history = await settled(readHistory());
    const audits = await settled(readAudits());
    stack.stop();
    const endedMs = nowMs();
    const deadLetters = [...stack.queues].filter(([name]) => name.includes('DeadLetters'));
    return {
      scenario,
      arrivals: receivers.arrivals,
      refusals: receivers.refusals,
      requests: receivers.requests,
      faults: faults.injected,
      kills: stack.lambda.kills.map((kill) => ({ ...kill, atMs: kill.atMs - startMs })),
      people,
      history,
      earlierHistory,
      redeliveredMs,
      audits,
      credentials,
      emailReports: emailReports.reports,
      redrives,
      shadows,
      deadLetters: new Map(
        deadLetters.map(([name, queue]) => [
          name,
          [...redrives.flatMap(({ letters }) => letters.get(name) ?? []), ...lettersIn(queue)],
        ]),
      ),
      ids,
      left: waiting().length,
      logs,
      startMs,
      failures: stack.lambda.failures,
      notRedelivered: failed,
      endedMs,
      invocations,
    };
  });
};
