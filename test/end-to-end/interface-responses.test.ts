import { expect, inject, it } from 'vitest';
import { call, isLocal, newClient } from './support/api.ts';

const pager = { label: 'Pager', type: 'managed', metadata: { team: 'ops' } };
const CREATED = '/notifications/{id}';

/** Requests with unknown names and with invalid values, one after the other. The first one creates a notification. */
const requests: readonly (readonly [method: string, path: string, body?: unknown])[] = [
  ['POST', '/notifications?labl=a&_who=jane', { ...pager, lable: 'a', id: 'b', details: { own: 'c' } }],
  ['POST', '/notifications', { lable: 'a', type: 'webhook', details: { ulr: 'https://a.example' } }],
  ['POST', '/notifications', '[]'],
  ['GET', '/notifications?limt=1&limit=1'],
  ['GET', '/notifications?marker=no%20marker&marke=a'],
  ['GET', '/notifications?limit=0&limt=1'],
  ['GET', `${CREATED}?fields=label`],
  ['GET', '/notifications/unknown?fields=label'],
  ['PUT', `${CREATED}?labl=a&_why=b`, { label: 'Renamed', lable: 'a', id: 'b' }],
  ['PUT', CREATED, { lable: 'a' }],
  ['PUT', CREATED, { label: 7, lable: 'a' }],
  ['PUT', '/notifications/ntTechnicalContactsEmail?labl=a', { lable: 'a' }],
  ['POST', `${CREATED}/test?stat=CRITICAL`, { state: 'CRITICAL' }],
  ['POST', `${CREATED}/test?state=critical&stat=OK`],
  ['POST', '/test-notification?stat=CRITICAL', { ...pager, lable: 'a' }],
  ['POST', '/test-notification', { lable: 'a' }],
  ['GET', '/notification_types?limt=1&limit=2'],
  ['GET', '/notification_types?marker=smz'],
  ['GET', '/notification_types/sms?fields=id'],
  ['GET', '/notification_types/smz'],
  ['DELETE', `${CREATED}?force=true`],
  ['DELETE', CREATED],
];

/** Headers of the connection and the time, which differ between any two responses. */
const VOLATILE = ['apigw-requestid', 'connection', 'content-length', 'date', 'keep-alive'];

it.runIf(isLocal)(
  'the nine operations of the interface answer requests without Prefer as they did before there was one',
  async () => {
    const { token } = await newClient();
    let id = '';
    const exchanges: string[] = [];
    for (const [method, template, body] of requests) {
      const path = template.replace('{id}', id);
      const { status, headers, text } = await call(method, path, { token, body });
      id ||= headers.get('location')?.split('/').at(-1) ?? '';
      const lines = [...headers]
        .filter(([name]) => !VOLATILE.includes(name))
        .map(([name, value]) => `${name}: ${value}`);
      const response = [status, ...lines.sort(), '', text].join('\n');
      exchanges.push(
        `${method} ${template}\n${response}\n`
          .replaceAll(inject('stack').base_url, '{base}')
          .replaceAll(id, '{id}')
          .replace(/"request_id":"[^"]+"/, '"request_id":"…"'),
      );
    }
    await expect(exchanges.join('\n')).toMatchFileSnapshot('interface-responses.txt');
  },
);
