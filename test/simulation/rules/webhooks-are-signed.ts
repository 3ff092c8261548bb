import { Webhook } from 'standardwebhooks';
import type { Observations } from '../world/observations.ts';
import type { ReceivedRequest } from '../world/receivers.ts';
import type { Rule } from './rule.ts';

const DAY_MS = 86_400_000;

/** Senders read the credentials of an account every minute; their clocks are up to 2 s off. */
const CACHE_MS = 65_000;

/** Whole seconds, clocks that are 2 s off, and slow calls before the request. */
const MAX_TIMESTAMP_DIFFERENCE_MS = 5_000;

/** A signing secret, and from when until when webhooks must or may be signed with it, ms since the start. */
type SecretPeriod = { secret: string; mustFromMs: number; mustUntilMs: number; mayUntilMs: number };

/** Returns the secrets of a tenant, or undefined if the outcome of a rotation is unknown. */
const secretsOf = (tenant: string, { people, credentials }: Observations): SecretPeriod[] | undefined => {
  const rotations = people.filter(({ action }) => action.kind === 'rotate' && action.tenant === tenant);
  if (rotations.some(({ responses }) => responses.length !== 1 || responses[0]?.status !== 200)) return undefined;
  const [initial = ''] = credentials.get(tenant)?.webhook_signing_secrets ?? [];
  const issued = [
    { secret: initial, startedMs: Number.NEGATIVE_INFINITY, endedMs: Number.NEGATIVE_INFINITY },
    ...rotations.map(({ responses, startedMs, endedMs }) => {
      const { webhook_signing_secret: secret }: { webhook_signing_secret: string } = JSON.parse(
        responses[0]?.body ?? '{}',
      );
      return { secret, startedMs, endedMs };
    }),
  ];
  return issued.map(({ secret, endedMs }, index) => {
    const [replaced, ended] = [issued[index + 1], issued[index + 2]];
    const never = Number.POSITIVE_INFINITY;
    return {
      secret,
      mustFromMs: endedMs + CACHE_MS,
      mustUntilMs: Math.min((replaced?.startedMs ?? never) + DAY_MS - CACHE_MS, ended?.startedMs ?? never),
      mayUntilMs: Math.min((replaced?.endedMs ?? never) + DAY_MS, ended?.endedMs ?? never) + CACHE_MS,
    };
  });
};

/** Returns the own secrets of a webhook, none if the outcome of a change is unknown. */
const ownSecretsOf = (notification: number, { people }: Observations): SecretPeriod[] => {
  const changes = people.filter(
    ({ action }) => (action.kind === 'sign' || action.kind === 'unsign') && action.notification === notification,
  );
  if (changes.some(({ responses }) => responses.length !== 1 || (responses[0]?.status ?? 500) >= 300)) return [];
  const never = Number.POSITIVE_INFINITY;
  return changes.flatMap(({ action, responses, endedMs }, index) => {
    if (action.kind !== 'sign') return [];
    const { secret }: { secret: string } = JSON.parse(responses[0]?.body ?? '{}');
    const [replaced, ended] = [changes[index + 1], changes[index + 3]];
    return {
      secret,
      mustFromMs: endedMs + CACHE_MS,
      mustUntilMs: Math.min((replaced?.startedMs ?? never) + DAY_MS - CACHE_MS, ended?.startedMs ?? never),
      mayUntilMs: (replaced?.endedMs ?? never) + DAY_MS + CACHE_MS,
    };
  });
};

/** Returns until when the account signs the requests of a webhook for sure: it ends a day after the first own secret. */
const accountUntilMs = (notification: number, { people }: Observations): number => {
  const first = people.find(({ action }) => action.kind === 'sign' && action.notification === notification);
  return (first?.startedMs ?? Number.POSITIVE_INFINITY) + DAY_MS - CACHE_MS;
};

const isSignedWith = (secret: string, { headers, body }: ReceivedRequest): boolean => {
  const sentAt = new Date(Number(headers['webhook-timestamp']) * 1_000);
  const signature = new Webhook(secret).sign(headers['webhook-id'] ?? '', sentAt, body);
  return headers['webhook-signature']?.split(' ').includes(signature) === true;
};

/**
 * Each webhook has the token of its account and is signed with its secrets and its own, as documented for rotations. A
 * webhook with a body of its own is not signed by the account.
 */
export const webhooksAreSigned: Rule = {
  name: 'webhooks are signed',
  violations(observations) {
    const { scenario, requests, credentials, startMs } = observations;
    return scenario.tenants.flatMap((tenant) => {
      const webhooks = tenant.notifications.filter(({ type }) => type === 'webhook');
      const ofAccount = secretsOf(tenant.name, observations);
      return webhooks.flatMap(({ index, key, hasOwnBody }) => {
        const own = ownSecretsOf(index, observations);
        const accountUntil = accountUntilMs(index, observations);
        return requests
          .filter(({ to }) => to === key)
          .flatMap((request) => {
            const { atMs, to, headers } = request;
            const hasAccount = atMs < accountUntil;
            const secrets = [...own, ...(hasAccount && !hasOwnBody ? (ofAccount ?? []) : [])];
            const name = `The webhook to ${to} after ${atMs} ms`;
            const differenceMs = Math.abs(Number(headers['webhook-timestamp']) * 1_000 - startMs - atMs);
            const isMissing = secrets.some(
              ({ secret, mustFromMs, mustUntilMs }) =>
                mustFromMs <= atMs && atMs < mustUntilMs && !isSignedWith(secret, request),
            );
            const isForgeable = hasOwnBody && ofAccount?.some(({ secret }) => isSignedWith(secret, request));
            const isOld = secrets.some(({ secret, mayUntilMs }) => atMs > mayUntilMs && isSignedWith(secret, request));
            return [
              ...(!hasAccount || headers['x-monitoring-webhook-token'] === credentials.get(tenant.name)?.webhook_token
                ? []
                : [`${name} has another token.`]),
              ...(differenceMs > MAX_TIMESTAMP_DIFFERENCE_MS ? [`${name} is ${differenceMs} ms off.`] : []),
              ...(isForgeable ? [`${name} has a body of its own, and the signature of the account.`] : []),
              ...(isMissing ? [`${name} is not signed with a secret in force.`] : []),
              ...(isOld ? [`${name} is signed with a secret that has ended.`] : []),
            ];
          });
      });
    });
  },
};

/** All attempts of a delivery have the same ID, and no other delivery has it. */
export const webhookIdsIdentifyDeliveries: Rule = {
  name: 'webhook IDs identify deliveries',
  violations({ requests }) {
    const alerts = requests.flatMap(({ headers, to, numbers }) => {
      const id = headers['webhook-id'];
      return id !== undefined && numbers.length > 0 ? [{ id, delivery: `#${numbers.join('#')}# to ${to}` }] : [];
    });
    const escalations = new Set(
      requests.filter(({ body }) => body.includes(':unreached')).map(({ headers }) => headers['webhook-id']),
    );
    const differing = <Key extends 'id' | 'delivery'>(key: Key, other: Exclude<'id' | 'delivery', Key>): string[] =>
      [
        ...Map.groupBy(
          alerts.filter(({ id }) => !escalations.has(id)),
          (alert) => alert[key],
        ),
      ]
        .filter(([, group]) => new Set(group.map((alert) => alert[other])).size > 1)
        .map(([name]) => `${name} has several ${other === 'id' ? 'IDs' : 'deliveries'}.`);
    return [...differing('delivery', 'id'), ...differing('id', 'delivery')];
  },
};
