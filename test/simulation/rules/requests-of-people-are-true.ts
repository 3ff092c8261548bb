import type { PersonRequest } from '../world/observations.ts';
import { isInOrder } from '../world/scenario.ts';
import type { Rule } from './rule.ts';

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
