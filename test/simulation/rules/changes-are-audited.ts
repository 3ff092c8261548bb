import type { ApiResponse } from '../engine/stack.ts';
import type { Observations, PersonRequest } from '../world/observations.ts';
import { createdLabel } from '../world/people.ts';
import { movedUrlOf } from '../world/receivers.ts';
import { isInOrder, notificationsOf, type PersonAction } from '../world/scenario.ts';
import { MAX_RUN_MS } from './requests.ts';
import type { Rule } from './rule.ts';

/** The action of the audit entry of what people do. */
export const ACTIONS: Record<PersonAction['kind'], string> = {
  revoke: 'revoke-token',
  create: 'create-notification',
  reroute: 'update-notification',
  retype: 'update-notification',
  delete: 'delete-notification',
  relabel: 'update-notification',
  mute: 'update-notification',
  summaries: 'update-account',
  contacts: 'update-account',
  fallback: 'update-account',
  rotate: 'rotate-signing-secret',
  sign: 'create-signing-secret',
  unsign: 'delete-signing-secret',
  token: 'create-token',
  redeliver: 'redeliver',
  'retry-now': 'redeliver',
  test: 'test-notification',
  'opt-out': 'opt-out',
  'undo-opt-out': 'resume-email',
};

/** An audited action, and what its response says: it happened, or it may have happened. */
type Change = { action: string; outcome: 'certain' | 'unknown' };

const isOfDelivery = (kind: PersonAction['kind']): boolean => kind === 'redeliver' || kind === 'retry-now';

/** Returns whether an action certainly changes something: settings may be as they were, and there may be no secret or mute. */
const isChange = (action: PersonAction, { people, scenario }: Observations): boolean => {
  if (['unsign', 'contacts', 'fallback'].includes(action.kind)) return false;
  // A short mute may be over when it is stored.
  if (action.kind === 'mute' && action.lengthMs < MAX_RUN_MS) return false;
  if (action.kind !== 'summaries') return true;
  if (action.summaries === undefined) return false;
  const others = people.flatMap(({ action: other }) =>
    other.kind === 'summaries' && other !== action ? [other.summaries] : [],
  );
  const initial = scenario.tenants.find(({ name }) => name === action.tenant)?.summaries;
  return [initial, ...others].every((other) => JSON.stringify(other) !== JSON.stringify(action.summaries));
};

const outcomeOf = (kind: PersonAction['kind'], { status, body }: ApiResponse): Change['outcome'] | undefined => {
  if (status >= 500 || (status === 404 && (kind === 'delete' || kind === 'revoke'))) return 'unknown';
  if (status >= 300) return undefined;
  // Without an effect there may be an entry: its write precedes the others.
  return isOfDelivery(kind) && JSON.parse(body).count === 0 ? 'unknown' : 'certain';
};

/** A revocation is followed by requests to create a token with the revoked one. */
const changesOf = ({ action, responses }: PersonRequest, observations: Observations): Change[] =>
  responses.flatMap((response, index): Change[] => {
    // Rules of their own: repeats change nothing.
    if (action.kind === 'create' || action.kind === 'opt-out' || action.kind === 'undo-opt-out') return [];
    // Two rotations at the same time may have one secret. The last response is the account.
    if (action.kind === 'rotate' && response.body.includes('webhook_signing_secrets')) return [];
    const isJoined = responses.slice(0, index).some(({ body }) => body === response.body);
    if (action.kind === 'rotate' && response.status === 200 && isJoined) return [];
    const possible = outcomeOf(action.kind, response);
    const outcome = possible && (isChange(action, observations) ? possible : 'unknown');
    if (!outcome) return [];
    const change = { action: ACTIONS[action.kind], outcome };
    return action.kind === 'revoke' && action.isSince ? [change, change] : [change];
  });

/** Returns the notifications at which tests arrived of which there is no entry: it is written before they are sent. */
const unauditedTests = ({ scenario, arrivals, audits, ids }: Observations): string[] =>
  scenario.tenants
    .flatMap(notificationsOf)
    .filter(({ key }) => arrivals.some(({ to, kind }) => to === key && kind === 'test'))
    .filter(({ index }) => !audits.some((entry) => entry.target_id === ids.get(index) && entry.action === ACTIONS.test))
    .map(({ key }) => `A test arrived at ${key} and has no audit entry.`);

/** Each change has one audit entry; one whose outcome is unknown has one or none. The first of equal changes is certain. */
export const changesAreAudited: Rule = {
  name: 'changes are audited',
  violations(observations) {
    const { people, audits, ids } = observations;
    const changes = people.flatMap((person) => {
      const { action } = person;
      const target = 'notification' in action ? (ids.get(action.notification) ?? '') : '';
      return changesOf(person, observations).map((change) => ({
        ...change,
        key: `${action.tenant} ${change.action} ${target}`,
      }));
    });
    // Operators set up the accounts.
    const byPeople = audits.filter(({ actor }) => actor.type === 'token');
    const miscounted = [...Map.groupBy(changes, ({ key }) => key)].flatMap(([key, group]) => {
      const [tenant, action, target] = key.split(' ');
      const found = byPeople.filter(
        (entry) => entry.tenant === tenant && entry.action === action && (target === '' || entry.target_id === target),
      ).length;
      const certain = group.filter(({ outcome }) => outcome === 'certain').length;
      return found < certain || found > group.length
        ? [`${key}: ${certain} certain and ${group.length - certain} unknown changes have ${found} audit entries.`]
        : [];
    });
    return [...miscounted, ...unauditedTests(observations)];
  },
};

const wrongUrls = ({ action, responses, startedMs, endedMs }: PersonRequest, { requests }: Observations): string[] => {
  if (action.kind !== 'reroute' && action.kind !== 'retype') return [];
  const key = `d${action.notification}`;
  const isAcknowledged = responses.at(-1)?.status === 200;
  return requests
    .filter(({ to, url, atMs }) => {
      const isMoved = url === movedUrlOf(key);
      return (
        to === key && ((isAcknowledged && atMs > endedMs + MAX_RUN_MS && !isMoved) || (atMs < startedMs && isMoved))
      );
    })
    .map(
      ({ url, atMs }) => `A request went to ${url} after ${atMs} ms. ${key} was moved from ${startedMs} to ${endedMs}.`,
    );
};

const wrongCreations = ({ action, responses }: PersonRequest, { labels, audits }: Observations): string[] => {
  if (action.kind !== 'create') return [];
  const { tenant } = action;
  const created = responses.filter(({ status }) => status === 201);
  const locations = new Set(created.map(({ headers }) => headers.location?.split('/').at(-1)));
  const found = labels.get(`${tenant} ${createdLabel(action)}`) ?? [];
  const [id] = found;
  const entries = audits.filter((audit) => audit.tenant === tenant && audit.target_id === id).length;
  const unexpected = responses.filter(({ status }) => status !== 201 && status < 500);
  return [
    ...unexpected.map(({ status, body }) => `${tenant} created a notification: ${status} ${body}`),
    ...(found.length > 1 || (created.length > 0 && found.length === 0)
      ? [`${tenant} created ${found.length} notifications with one idempotency key.`]
      : []),
    ...(locations.size > 1 || (id !== undefined && created.length > 0 && !locations.has(id))
      ? [`${tenant} got the locations ${[...locations].join(', ')} for ${id}.`]
      : []),
    ...(id !== undefined && entries !== 1 ? [`${entries} audit entries say that ${tenant} created ${id}.`] : []),
  ];
};

/** Alerts go to the new URL of a webhook, and a create that is repeated with its idempotency key creates one notification. */
export const changesTakeEffect: Rule = {
  name: 'changes take effect',
  violations: (observations) =>
    observations.people.flatMap((person) => [
      ...wrongUrls(person, observations),
      ...wrongCreations(person, observations),
    ]),
};

/** SQS delays a message by at most 15 minutes, and the attempt of a message that was received early waits for a batch. */
const MAX_WAIT_MS = 17 * 60_000;

/** Lambda, and not the service, responds so. */
const IS_CRASH = /Runtime\.ExitError|Sandbox\.Timedout/;

/** Secrets that a rotation returned and that do not sign, although nobody has rotated them again. */
const unusedSecrets = ({ action, responses }: PersonRequest): string[] => {
  // A request that failed may have rotated them, and is sent again.
  if (action.kind !== 'rotate' || responses.some(({ status }) => status >= 500)) return [];
  const bodies = responses.filter(({ status }) => status === 200).map(({ body }) => JSON.parse(body));
  const account: { webhook_signing_secrets?: string[] } | undefined = bodies.find((body) => body.id !== undefined);
  const secrets: string[] = bodies.flatMap(({ webhook_signing_secret: secret }) => secret ?? []);
  return secrets
    .filter((secret) => account && !account.webhook_signing_secrets?.includes(secret))
    .map(() => `${action.tenant} got a new secret that signs nothing.`);
};

const wrongResponses = (person: PersonRequest): string[] => {
  const { action, responses } = person;
  const errors = responses.filter(({ status, body }) => status === 500 && !IS_CRASH.test(body));
  const revoked = action.kind === 'revoke' ? responses.findIndex(({ status }) => status === 204) : -1;
  const permitted = revoked < 0 ? [] : responses.slice(revoked + 1).filter(({ status }) => status < 400);
  return [
    ...unusedSecrets(person),
    ...errors.map(({ body }) => `${action.tenant} ${action.kind}: ${body}`),
    ...permitted.map(({ status }) => `${action.tenant}: a revoked token created a token (${status}).`),
  ];
};

/**
 * No request of a person fails but by a fault, a revoked token issues none, and waiting deliveries that were made due are
 * attempted.
 */
export const requestsOfPeopleAreTrue: Rule = {
  name: 'responses of the API are true',
  violations({ people, arrivals, refusals, scenario, ids }) {
    const ordered = new Set(
      scenario.tenants.flatMap(({ notifications }) => notifications.filter(isInOrder).map(({ index }) => index)),
    );
    const notEarly = people.flatMap(({ action, responses, endedMs }) => {
      const [response] = responses;
      if (action.kind !== 'retry-now' || response?.status !== 202 || endedMs < scenario.recoveryMs + MAX_WAIT_MS)
        return [];
      const { count }: { count: number } = JSON.parse(response.body);
      const key = `d${action.notification}`;
      // An event of an incident may be superseded instead.
      if (ordered.has(action.notification)) return [];
      const attempts = [...arrivals, ...refusals].filter(
        ({ to, kind, atMs }) => to === key && kind === 'alert' && atMs >= endedMs && atMs <= endedMs + MAX_WAIT_MS,
      ).length;
      return attempts < count
        ? [`${count} deliveries of ${key} (${ids.get(action.notification)}) became due, ${attempts} were attempted.`]
        : [];
    });
    return [...people.flatMap(wrongResponses), ...notEarly];
  },
};
