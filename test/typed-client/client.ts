/**
 * Calls the API with the types generated from `openapi.json`, and prints what it received. A line
 * after `@ts-expect-error` must not compile.
 */
import createClient from 'openapi-fetch';
import type { components, paths, webhooks } from './api.d.ts';

declare const process: { argv: string[]; stdout: { write(text: string): void } };

const [, , baseUrl = '', token = ''] = process.argv;
const api = createClient<paths>({ baseUrl, headers: { 'X-Auth-Token': token } });

/** Fails if the response is an error. */
const assertSuccess = ({ response }: { response: Response }): void => {
  if (!response.ok) throw new Error(`${response.url} returned ${response.status}`);
};

/** Returns the body of a successful response. */
const dataOf = <Data>({ data, response }: { data?: Data; response: Response }): Data => {
  if (data === undefined) throw new Error(`${response.url} returned ${response.status}`);
  return data;
};

/** Returns where a notification leads: `type` narrows `details`. */
const destinationOf = (notification: components['schemas']['Notification']): string => {
  switch (notification.type) {
    case 'webhook':
      return notification.details.url;
    case 'email':
      return notification.details.address;
    case 'sms':
      // @ts-expect-error an SMS notification has no URL of type number
      notification.details.phone_number satisfies number;
      return notification.details.phone_number;
    default:
      return Object.values(notification.details).join(' ');
  }
};

/** Compiles only if the payload of a webhook is typed. */
export const stateOf = (
  payload: webhooks['alert']['post']['requestBody']['content']['application/json'],
): 'OK' | 'WARNING' | 'CRITICAL' => payload.details.state;

const created = await api.POST('/notifications', {
  params: { header: { Prefer: 'return=representation' } },
  body: { label: 'Typed', type: 'email', details: { address: 'typed@example.com' }, metadata: { team: 'ops' } },
});
const notificationId = dataOf(created).id;
const path = { id: notificationId };

type Changes = components['schemas']['NotificationChanges'];

// These are never called: they must not compile.
export const mistakes = [
  // @ts-expect-error the field of a type is missing
  () => api.POST('/notifications', { body: { label: 'a', type: 'email', details: { url: 'https://a.example' } } }),
  // @ts-expect-error a wrong field
  () => api.POST('/notifications', { body: { label: 'a', type: 'managed', colour: 'red' } }),
  // @ts-expect-error an unknown type
  () => api.POST('/notifications', { body: { label: 'a', type: 'pigeon', details: {} } }),
  // @ts-expect-error an unknown path
  () => api.GET('/notification'),
  // @ts-expect-error a path parameter is missing
  () => api.GET('/notifications/{id}', {}),
  // @ts-expect-error neither of the attributes
  () => api.POST('/notifications/{id}/redeliver', { params: { path }, body: {} }),
  // @ts-expect-error an unknown query parameter
  () => api.GET('/audits', { params: { query: { limt: 1 } } }),
  // @ts-expect-error a text for a boolean
  () => api.GET('/audits', { params: { query: { reverse: 'true' } } }),
  // @ts-expect-error an unknown attribute
  () => api.PUT('/notifications/{id}', { params: { path }, body: { muted: true } satisfies Changes }),
  // @ts-expect-error an unknown role
  () => api.POST('/tokens', { body: { label: 'a', role: 'owner', days: 1 } }),
];

assertSuccess(await api.PUT('/notifications/{id}', { params: { path }, body: { label: 'Renamed', muted_until: 0 } }));
const read = dataOf(await api.GET('/notifications/{id}', { params: { path } }));
const list = dataOf(await api.GET('/notifications', { params: { query: { limit: 10, id: [notificationId] } } }));
const tested = dataOf(await api.POST('/notifications/{id}/test', { params: { path } }));
const testedNew = dataOf(await api.POST('/test-notification', { body: { type: 'managed' } }));
/** Compiles only if what was sent is typed. */
export const sentTo: string | undefined = testedNew.request?.url;
const types = dataOf(await api.GET('/notification_types', { params: { query: { limit: 1000 } } }));
const type = dataOf(await api.GET('/notification_types/{id}', { params: { path: { id: 'sms' } } }));
const deliveries = dataOf(
  await api.GET('/notifications/{id}/deliveries', { params: { path, query: { status: ['failed'] } } }),
);
const found = dataOf(await api.GET('/deliveries', { params: { query: { status: ['failed', 'pending'], from: 0 } } }));
const ofEvent = dataOf(await api.GET('/deliveries', { params: { query: { event_id: 'a:b' } } }));
const failures = dataOf(await api.GET('/failures', { params: { query: { limit: 10 } } }));
const redelivered = dataOf(await api.POST('/notifications/{id}/redeliver', { params: { path }, body: { since: 0 } }));
dataOf(await api.POST('/notifications/{id}/redeliver', { params: { path }, body: { status: 'pending' } }));
const retried = await api.POST('/notifications/{id}/redeliver', {
  params: { path },
  body: { event_id: 'a:b', status: 'pending' },
});
assertSuccess(await api.PUT('/account', { body: { technical_contacts: ['typed@example.com'] } }));
const account = dataOf(await api.GET('/account'));
const rotated = dataOf(await api.POST('/account/rotate-signing-secret'));
const audits = dataOf(await api.GET('/audits', { params: { query: { reverse: true, limit: 1 } } }));
const newToken = dataOf(await api.POST('/tokens', { body: { label: 'Typed', role: 'observer', days: 1 } }));
const tokens = dataOf(await api.GET('/tokens', { params: { query: { limit: 10 } } }));
assertSuccess(await api.DELETE('/tokens/{id}', { params: { path: { id: newToken.id } } }));
assertSuccess(await api.DELETE('/notifications/{id}', { params: { path } }));

const strict = await api.GET('/notifications', { params: { header: { Prefer: 'handling=strict' } } });
const { error } = await api.GET('/notifications/{id}', { params: { path } });
const unauthorized = await createClient<paths>({ baseUrl }).GET('/account');

process.stdout.write(
  JSON.stringify({
    read: [read.label, destinationOf(read)],
    list: list.values.map(destinationOf),
    tests: [tested.status, testedNew.status],
    types: types.values.length,
    fields: type.fields?.map(({ name }) => name),
    deliveries: deliveries.metadata.count,
    found: [found.values.map(({ type, notification_label }) => `${type} ${notification_label}`), ofEvent.values.length],
    retried: retried.response.status,
    failed: failures.values.map(({ failed }) => failed),
    redelivered: redelivered.count,
    contacts: account.technical_contacts,
    secret: rotated.webhook_signing_secret.startsWith('whsec_'),
    audited: audits.values.map(({ action }) => action),
    tokens: tokens.values.some(({ id }) => id === newToken.id),
    applied: [created, strict].map(({ response }) => response.headers.get('preference-applied')),
    // The gateway's errors have only a message.
    errors: [error, unauthorized.error].map((problem) => problem && 'type' in problem && problem.type),
  }),
);
