import type { Request } from 'autocannon';
import { type EndpointName, endpointNames, endpoints } from '../../../shared/contracts/endpoints.ts';
import type { LocalStackProcess } from '../../support/local-stack-process.ts';

/** A request that is made again and again, and the one status that is right. */
export type Case = { name: string; status: number; request: Request };

/** Notifications in the list that is read. */
const LISTED = 20;
/** Notifications that are updated in turns: more than connections, so that no two updates of one meet. */
const UPDATED = 200;

const answered: Record<EndpointName, number> = {
  'create-notification': 201,
  'list-notifications': 200,
  'get-notification': 200,
  'update-notification': 204,
  'delete-notification': 204,
  'test-notification': 200,
  'test-new-notification': 200,
  'list-notification-types': 200,
  'get-notification-type': 200,
};

/** The smallest function, behind the gateway's `$default` route: what is left is the cost of gateway and sandbox. */
export const baseline: Case = { name: 'unknown route (baseline)', status: 404, request: { path: '/unknown' } };

/** How to call an endpoint, but for its place and what it is told. */
const request = (name: EndpointName, token: string, id = ''): Request => {
  const { method, path } = endpoints[name];
  const headers = { 'x-auth-token': token, ...(method !== 'GET' && { 'content-type': 'application/json' }) };
  return { method, path: path.replace(/\{\w+\}/, id), headers };
};

/** One after the other, again and again. */
const inTurns = (ids: readonly string[]): (() => string) => {
  let at = 0;
  return () => ids[at++ % ids.length] ?? '';
};

/**
 * The nine endpoints. One tenant has a list that stays as it is and is read, the other all that is made and deleted: each
 * delete takes a notification that was made by a create before.
 *
 * @param hook where webhooks go
 */
export const endpointCases = async ({ base_url, tokens }: LocalStackProcess, hook: string) => {
  const { admin: reader, other_admin: writer } = tokens;
  const notification = { label: 'Bench', type: 'webhook', details: { url: hook } };
  const body = JSON.stringify(notification);

  const create = async (token: string): Promise<string> => {
    const { method, path } = endpoints['create-notification'];
    const answer = await fetch(base_url + path, { method, headers: { 'x-auth-token': token }, body });
    if (answer.status !== 201) throw new Error(`not created: ${answer.status} ${await answer.text()}`);
    return idIn(answer.headers.get('location'));
  };
  const createAll = async (token: string, amount: number) => {
    const ids: string[] = [];
    while (ids.length < amount) ids.push(await create(token));
    return ids;
  };

  const listed = await createAll(reader, LISTED);
  const updated = inTurns(await createAll(writer, UPDATED));
  const [some = ''] = listed;
  /** Notifications to delete. */
  const made: string[] = [];

  const requests: Record<EndpointName, Request> = {
    'create-notification': {
      ...request('create-notification', writer),
      body,
      onResponse(_, __, ___, headers) {
        made.push(idIn(headers?.location));
      },
    },
    'list-notifications': request('list-notifications', reader),
    'get-notification': request('get-notification', reader, some),
    'update-notification': {
      ...request('update-notification', writer),
      body: JSON.stringify({ label: 'Another' }),
      setupRequest: (one) => ({ ...one, ...pathOf('update-notification', updated()) }),
    },
    'delete-notification': {
      ...request('delete-notification', writer),
      setupRequest(one) {
        const id = made.pop();
        if (id === undefined) throw new Error('There is nothing left to delete.');
        return { ...one, ...pathOf('delete-notification', id) };
      },
    },
    'test-notification': request('test-notification', reader, some),
    'test-new-notification': {
      ...request('test-new-notification', reader),
      body: JSON.stringify({ type: notification.type, details: notification.details }),
    },
    'list-notification-types': request('list-notification-types', reader),
    'get-notification-type': request('get-notification-type', reader, 'webhook'),
  };
  return {
    cases: endpointNames.map((name): Case => ({ name, status: answered[name], request: requests[name] })),
    /** How many notifications are there to delete. */
    deletable: () => made.length,
  };
};

/** Where an endpoint of one notification is. */
const pathOf = (name: EndpointName, id: string): { path: string } => ({
  path: endpoints[name].path.replace(/\{\w+\}/, id),
});

/** The id at the end of an address. */
const idIn = (location: string | null | undefined): string => {
  const id = location?.split('/').at(-1);
  if (!id) throw new Error('A notification was created without an address.');
  return id;
};
