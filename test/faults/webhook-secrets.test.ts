// The webhooks of the simulation have no headers of their own.
import { ScanCommand } from '@aws-sdk/lib-dynamodb';
import { expect, it } from 'vitest';
import * as z from 'zod';
import { localDeployment, outputNames } from '../../bin/ops/deployment.ts';
import { openSession } from '../../bin/ops/session.ts';
import { exportTenant } from '../../bin/ops/tenant/export.ts';
import { createPace } from '../../bin/ops/tenant/pace.ts';
import type { ReceivedResponse } from '../support/api.ts';
import { newAlarmEvent } from '../support/events.ts';
import { openSink } from '../support/test-sink.ts';
import { useStarted } from '../support/use-started.ts';
import { useFaultyStack } from './support.ts';

const harness = useFaultyStack();
const client = useStarted(() => harness.newClient());

const MARKER = 'marker-5f1d0c';
const headers = { Authorization: `Bearer ${MARKER}`, 'X-Key': MARKER };

const exportedText = async (withSecrets: boolean): Promise<string> => {
  const { ready, plan } = harness.stack;
  const outputs = Object.fromEntries(outputNames.map((name) => [name, plan.output(name)]));
  const address = { port: Number(new URL(ready.base_url).port), endpoint: ready.aws_endpoint, outputs };
  const session = openSession(localDeployment(address), true);
  const lines: unknown[] = [];
  await exportTenant(session, client.tenant, {
    pace: createPace(1_000_000, { now: Date.now, sleep: async () => undefined }),
    withSecrets,
    nowMs: 0,
    write: async (line) => void lines.push(line),
    onProgress: () => undefined,
  });
  return JSON.stringify(lines);
};

it('the value of a header is only in the requests to the receiver', async () => {
  /** Returns all that it received. */
  const echo = await openSink((response, request) =>
    response.writeHead(410, { 'x-echo': MARKER }).end(JSON.stringify(request)),
  );
  const inboxUrl = `${harness.stack.ready.inbox_url}/webhooks/${client.tenant}`;
  const texts: string[] = [];
  const answered = async (pending: Promise<ReceivedResponse>): Promise<ReceivedResponse> => {
    const response = await pending;
    texts.push(response.text, JSON.stringify([...response.headers]));
    return response;
  };
  const webhookTo = (url: string, body: unknown = '{{alert.text}}') => ({
    label: 'Echo',
    type: 'webhook',
    details: { url },
    webhook_request: { headers, body },
  });
  const destinations = [
    webhookTo(echo.url),
    webhookTo(inboxUrl),
    webhookTo('http://127.0.0.1:1'),
    webhookTo(`${echo.url}/large`, '{{details}}'.repeat(1_000)),
  ];
  const created = await Promise.all(destinations.map((each) => answered(client.post('/notifications', each))));
  const ids = created.map((response) => response.headers.get('location')?.split('/').at(-1) ?? '');
  const [id] = ids;
  for (const each of destinations) await answered(client.post('/test-notification', each));
  expect(texts.join()).toContain('"response_text":');
  const masked = await answered(client.get(`/notifications/${id}`));
  expect(masked.body).toMatchObject({ webhook_request: { headers: { Authorization: '***', 'X-Key': '***' } } });

  const event = newAlarmEvent(client.tenant, ids, { log_entry_id: 'l'.repeat(3_000) });
  await harness.sendEvents([event]);
  await harness.drainQueue('Delivery-webhook');
  await harness.deadLetter('webhook', (body) => body.includes(event.event_id));
  const invalid = { headers: { 'X-Key': `${MARKER}\n` } };
  const changes = [{ webhook_request: invalid }, { details: { url: 'https://other.example' } }, masked.body];
  const statuses = [];
  for (const change of changes) statuses.push((await answered(client.put(`/notifications/${id}`, change))).status);
  expect(statuses).toEqual([400, 400, 204]);
  expect(
    (await answered(client.post('/notifications', { ...webhookTo(echo.url), webhook_request: invalid }))).status,
  ).toBe(400);
  for (const path of [
    '/notifications',
    `/notifications?id=${id}`,
    '/account',
    '/audits',
    '/failures',
    ...ids.map((each) => `/notifications/${each}/deliveries`),
  ])
    await answered(client.get(path));
  await answered(client.post(`/notifications/${id}/test`));
  await answered(client.post(`/notifications/${id}/redeliver`, { since: 0 }));
  await harness.drainQueue('Delivery-webhook');

  const received = echo.received.filter((request) => request.headers.authorization === headers.Authorization);
  expect(received.map((request) => request.headers['x-key'])).toEqual(echo.received.map(() => MARKER));
  expect(received.length).toBeGreaterThanOrEqual(4);
  const inbox = async (path: string) => (await fetch(`${harness.stack.ready.inbox_url}${path}`)).text();
  const messages = z.array(z.object({ id: z.number() })).parse(JSON.parse(await inbox('/')));
  const records = await harness.documents.send(new ScanCommand({ TableName: harness.table('Deliveries') }));
  const found = {
    responses: texts.join('\n'),
    'logs and metrics': harness.lines.join('\n'),
    records: JSON.stringify(records.Items),
    messages: JSON.stringify([...harness.stack.queues.values()].map(({ messages }) => messages)),
    'dead letters': JSON.stringify(await harness.deadLetter('webhook', () => true)),
    export: await exportedText(false),
    'export with secrets': await exportedText(true),
    inbox: (await Promise.all(messages.map((message) => inbox(`/messages/${message.id}`)))).join('\n'),
  };
  for (const [source, text] of Object.entries(found)) {
    expect(text.length, source).toBeGreaterThan(100);
    expect(text.includes(MARKER), source).toBe(false);
  }
});
