import type { Request } from 'autocannon';
import { type EndpointName, endpointNames, endpoints } from '../../../shared/contracts/endpoints.ts';
import type { LocalStackProcess } from '../../support/local-stack-process.ts';

/** A request to repeat, and its expected status. */
export type Case = { name: string; status: number; request: Request };

/** The number of notifications of the tenant that only reads. */
const LISTED = 20;
/** The number of notifications that are updated in turn: more than connections, so that no two updates conflict. */
const UPDATED = 200;

/** The endpoints to measure. Tokens have a limit that a benchmark would reach at once. */
const EXPECTED_STATUS = {
  'create-notification': 201,
  'list-notifications': 200,
  'get-notification': 200,
  'update-notification': 204,
  'delete-notification': 204,
  'test-notification': 200,
  'test-new-notification': 200,
  'list-notification-types': 200,
  'get-notification-type': 200,
  'list-deliveries': 200,
  redeliver: 202,
} as const satisfies Partial<Record<EndpointName, number>>;

type MeasuredName = keyof typeof EXPECTED_STATUS;

const isMeasured = (name: EndpointName): name is MeasuredName => name in EXPECTED_STATUS;

/** The smallest function, behind the `$default` route of the gateway: the cost of gateway and sandbox. */
export const baseline: Case = { name: 'unknown route (baseline)', status: 404, request: { path: '/unknown' } };

/** Returns a request without a body to an endpoint. */
const request = (name: EndpointName, token: string, id = ''): Request => {
  const { method, path } = endpoints[name];
  const headers = { 'x-auth-token': token, ...(method !== 'GET' && { 'content-type': 'application/json' }) };
  return { method, path: path.replace(/\{\w+\}/, id), headers };
};

/** Returns a function that cycles through IDs. */
const cycle = (ids: readonly string[]): (() => string) => {
  let index = 0;
  return () => ids[index++ % ids.length] ?? '';
};

/**
 * Returns a case for each endpoint to measure. One tenant only reads, the other creates and deletes:
 * each delete removes a notification from an earlier create.
 */
export const endpointCases = async ({ base_url, tokens }: LocalStackProcess, webhookUrl: string) => {
  const { admin: reader, other_admin: writer } = tokens;
  const notification = { label: 'Bench', type: 'webhook', details: { url: webhookUrl } };
  const body = JSON.stringify(notification);

  const create = async (token: string): Promise<string> => {
    const { method, path } = endpoints['create-notification'];
    const response = await fetch(base_url + path, { method, headers: { 'x-auth-token': token }, body });
    if (response.status !== 201) throw new Error(`not created: ${response.status} ${await response.text()}`);
    return idIn(response.headers.get('location'));
  };
  const createAll = async (token: string, count: number) => {
    const ids: string[] = [];
    while (ids.length < count) ids.push(await create(token));
    return ids;
  };

  const listed = await createAll(reader, LISTED);
  const updated = cycle(await createAll(writer, UPDATED));
  const [listedId = ''] = listed;
  const idsToDelete: string[] = [];

  const requests: Record<MeasuredName, Request> = {
    'create-notification': {
      ...request('create-notification', writer),
      body,
      onResponse(_, __, ___, headers) {
        idsToDelete.push(idIn(headers?.location));
      },
    },
    'list-notifications': request('list-notifications', reader),
    'get-notification': request('get-notification', reader, listedId),
    'update-notification': {
      ...request('update-notification', writer),
      body: JSON.stringify({ label: 'Another' }),
      setupRequest: (prepared) => ({ ...prepared, ...pathOf('update-notification', updated()) }),
    },
    'delete-notification': {
      ...request('delete-notification', writer),
      setupRequest(prepared) {
        const id = idsToDelete.pop();
        if (id === undefined) throw new Error('There is no notification left to delete.');
        return { ...prepared, ...pathOf('delete-notification', id) };
      },
    },
    'test-notification': request('test-notification', reader, listedId),
    'test-new-notification': {
      ...request('test-new-notification', reader),
      body: JSON.stringify({ type: notification.type, details: notification.details }),
    },
    'list-notification-types': request('list-notification-types', reader),
    'get-notification-type': request('get-notification-type', reader, 'webhook'),
    'list-deliveries': request('list-deliveries', reader, listedId),
    redeliver: { ...request('redeliver', reader, listedId), body: JSON.stringify({ since: 0 }) },
  };
  return {
    cases: endpointNames
      .filter(isMeasured)
      .map((name): Case => ({ name, status: EXPECTED_STATUS[name], request: requests[name] })),
    /** Returns the number of notifications that can be deleted. */
    deletable: () => idsToDelete.length,
  };
};

const pathOf = (name: EndpointName, id: string): { path: string } => ({
  path: endpoints[name].path.replace(/\{\w+\}/, id),
});

const idIn = (location: string | null | undefined): string => {
  const id = location?.split('/').at(-1);
  if (!id) throw new Error('A notification was created without a Location.');
  return id;
};
