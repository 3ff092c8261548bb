import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { SendMessageCommand, StartMessageMoveTaskCommand } from '@aws-sdk/client-sqs';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import * as z from 'zod';
import { emailTags } from '../../shared/domain/email-event.ts';
import type { FaultyStack } from '../faults/support.ts';
import { alarmEvent, newAlarmEvent } from '../support/events.ts';
import { destinationsAt, validDetails } from '../support/notifications.ts';
import { type Sink, startSink } from '../support/sink.ts';
import { until } from '../support/until.ts';
import { type Recording, readRecording, startWithItems } from './recording.ts';
import { loadMessages } from './stored-data.ts';

/** `npm run test:rollback` sets these: the release to run, and the recording of another one. */
const { RELEASE = join(import.meta.dirname, '../..'), RECORDING } = process.env;

/** The recordings of earlier releases. */
const recordings = readdirSync(import.meta.dirname, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => join(import.meta.dirname, name));

const SETUP_TIMEOUT_MS = 120_000;
const TOKEN_CACHE_MS = 61_000;

const delivery = z.object({ event: z.looseObject({ event_id: z.string() }) });
const account = z.object({
  webhook_signing_secrets: z.array(z.string()),
  usage: z.object({ tests_per_day: z.number() }),
});

describe.each(RECORDING === undefined ? recordings : [RECORDING])('with the data of %s', (directory) => {
  let recording: Recording;
  let world: FaultyStack;
  let sink: Sink;

  beforeAll(async () => {
    recording = readRecording(directory);
    sink = await startSink();
    world = await startWithItems(RELEASE, recording);
  }, SETUP_TIMEOUT_MS);
  afterAll(async () => {
    sink.close();
    await world.stack.stop();
  });

  const idOf = (name: string): string => recording.exercised.notifications[name] ?? '';
  const eventOf = (name: string): string => recording.exercised.events[name] ?? '';
  const tenant = () => recording.exercised.tenant;
  const call = (method: string, path: string, body?: unknown, role: keyof Recording['exercised']['tokens'] = 'admin') =>
    world.call(method, path, { token: recording.exercised.tokens[role].token, body });
  const requestsFor = (eventId: string) => sink.received.filter(({ body }) => body.includes(eventId));

  /** Resolves once the delivery of an event to a notification has this status. */
  const ended = (notification: string, eventId: string, status = 'delivered') =>
    world.advanceUntil(
      until(async () =>
        (await world.deliveries(tenant(), idOf(notification))).some(
          (found) => found.event_id === eventId && found.status === status,
        ),
      ),
    );

  it('returns what the other release returned', async () => {
    for (const [path, response] of Object.entries(recording.responses)) {
      expect((await call('GET', path)).body, path).toMatchObject(Object(response));
    }
  });

  it('authenticates its tokens, with their roles', async () => {
    expect((await call('GET', '/notifications', undefined, 'observer')).status).toBe(200);
    expect((await call('POST', '/test-notification', {}, 'observer')).status).toBe(403);
    expect((await call('DELETE', `/notifications/${idOf('sms')}`, undefined, 'creator')).status).toBe(403);
    expect((await call('GET', '/notifications', undefined, 'revoked')).status).toBe(401);
  });

  it('updates its notifications, small and large', async () => {
    const { webhook, incidentpager } = destinationsAt(sink.url);
    for (const name of ['webhook', 'gone', 'failing', 'large']) {
      expect((await call('PUT', `/notifications/${idOf(name)}`, { details: webhook })).status).toBe(204);
    }
    expect((await call('PUT', `/notifications/${idOf('incidentpager')}`, { details: incidentpager })).status).toBe(204);
    expect((await call('GET', `/notifications/${idOf('large')}`)).body).toMatchObject({
      label: 'larger',
      details: webhook,
    });
  });

  it('continues what was in its queues: a retry, a delivery, a continuation and an event', async () => {
    loadMessages(world, recording.messages);
    await ended('failing', eventOf('pending'));
    await ended('email', eventOf('queued'));
    await ended('email', eventOf('continued'));
    await ended('sms', eventOf('continued'));
    await ended('email', eventOf('not dispatched'));
  });

  it('signs webhooks with its signing secrets', async () => {
    const [{ headers = {}, body = '' } = {}] = requestsFor(eventOf('pending'));
    expect(JSON.parse(body)).toEqual({ 'own body': eventOf('pending') });
    const { webhook_signing_secrets: secrets } = account.parse(recording.responses['/account']);
    expect(secrets).toHaveLength(2);
    const signed = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
    // The clock of the stack is at the time of the recording.
    vi.useFakeTimers({ toFake: ['Date'], now: world.stack.clock.now() });
    onTestFinished(() => void vi.useRealTimers());
    for (const secret of secrets) expect(() => new Webhook(secret).verify(body, signed)).not.toThrow();
  });

  it('redelivers an alert that failed, then redrives the dead letters, each alert once', async () => {
    const [redelivered, redriven] = [eventOf('redelivered later'), eventOf('redriven later')];
    const { body } = await call('POST', `/notifications/${idOf('gone')}/redeliver`, { event_id: redelivered });
    expect(body).toEqual({ count: 1, next_marker: null });
    await ended('gone', redelivered);
    await world.redrive('webhook');
    await ended('gone', redriven);
    await world.drainQueue('Delivery-webhook');
    expect([redelivered, redriven].map((id) => requestsFor(id).length)).toEqual([1, 1]);
  });

  it('returns its crashed messages to their queue, from which they are delivered', async () => {
    const crashed = [...world.stack.queues.values()].find(({ settings }) => settings.name.includes('Crashed'));
    await world.sqs.send(new StartMessageMoveTaskCommand({ SourceArn: crashed?.settings.arn }));
    await ended('email', eventOf('crashed'));
  });

  it('does not deliver an event again that it delivered', async () => {
    const [event] = recording.messages
      .filter(({ queue, body }) => queue.endsWith('webhook-DeadLetters') && body.includes(eventOf('delivered')))
      .map(({ body }) => delivery.parse(JSON.parse(body)).event);
    const before = requestsFor(eventOf('delivered')).length;
    await world.sendEvents([{ ...event, notification_plan: { critical_state: [idOf('webhook')] } }]);
    await until(async () => world.lines.some((line) => line.includes('type=webhook') && line.includes('duplicate=1')));
    expect(requestsFor(eventOf('delivered'))).toHaveLength(before);
  });

  it('supersedes an event that is older than the newest of its incident', async () => {
    const timeMs = Number(eventOf('delivered').split(':').at(-2)) - 1_000;
    const older = newAlarmEvent(tenant(), [idOf('incidentpager')], { alarm: 'al-delivered', timeMs, state: 'OK' });
    await world.sendEvents([older]);
    await ended('incidentpager', older.event_id, 'superseded');
  });

  it('records a bounce of an email that it delivered', async () => {
    const event = alarmEvent({ tenant_id: tenant(), event_id: eventOf('delivered') });
    const tags = Object.entries(emailTags(event, idOf('email'))).map(([name, value]) => [name, [value]]);
    const mail = {
      messageId: 'message-2',
      destination: Object.values(validDetails.email),
      tags: Object.fromEntries(tags),
    };
    const detail = { eventType: 'Bounce', bounce: { bounceType: 'Permanent' }, mail };
    const QueueUrl = world.stack.queues.get('EmailEvents-Queue')?.settings.url;
    const MessageBody = JSON.stringify({ source: 'aws.ses', detail });
    await world.sqs.send(new SendMessageCommand({ QueueUrl, MessageBody }));
    await ended('email', event.event_id, 'bounced');
  });

  it('continues its counters', async () => {
    const { usage: before } = account.parse((await call('GET', '/account')).body);
    expect((await call('POST', `/notifications/${idOf('email')}/test`)).status).toBe(200);
    const { usage: after } = account.parse((await call('GET', '/account')).body);
    expect(after.tests_per_day - before.tests_per_day).toBe(1);
  });

  it('issues tokens and revokes those of the other release', async () => {
    expect((await call('POST', '/tokens', { label: 'new', role: 'observer' })).status).toBe(201);
    expect((await call('DELETE', `/tokens/${recording.exercised.tokens.creator.id}`)).status).toBe(204);
    await world.stack.advance(TOKEN_CACHE_MS);
    expect((await call('GET', '/notifications', undefined, 'creator')).status).toBe(401);
  });

  it('deletes its notifications, small and large', async () => {
    for (const name of ['sms', 'large']) {
      expect((await call('DELETE', `/notifications/${idOf(name)}`)).status).toBe(204);
      expect((await call('GET', `/notifications/${idOf(name)}`)).status).toBe(404);
    }
  });
});

it('has the data of at least one earlier release', () => {
  expect(recordings).not.toEqual([]);
});
