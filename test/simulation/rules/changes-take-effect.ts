import type { Observations, PersonRequest } from '../world/observations.ts';
import { createdLabel } from '../world/people.ts';
import { movedUrlOf } from '../world/receivers.ts';
import { MAX_RUN_MS } from './requests.ts';
import type { Rule } from './rule.ts';

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
