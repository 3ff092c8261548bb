import type { ApiResponse } from '../engine/stack.ts';
import type { Observations, PersonRequest } from '../world/observations.ts';
import { notificationsOf, type PersonAction } from '../world/scenario.ts';
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
  if (action.kind === 'mute' && action.lengthMs === 0) return false;
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
