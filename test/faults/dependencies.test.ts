import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createAccountRepository } from '../../shared/adapters/accounts/account-repository.ts';
import type { Client } from '../support/api.ts';
import { webhook } from '../support/api.ts';
import { newAlarmEvent } from '../support/events.ts';
import { openSink } from '../support/test-sink.ts';
import { until } from '../support/until.ts';
import { type FaultyStack, startFaultyStack, throttled } from './support.ts';

describe('when what the service depends on fails', () => {
  let world: FaultyStack;
  let client: Client;
  beforeAll(async () => {
    world = await startFaultyStack();
    client = await world.newClient();
  });
  afterAll(() => world.stack.stop());

  it('a throttled or failing database makes every operation 503 with Retry-After, also while authenticating', async () => {
    const id = await client.create(webhook);
    const failures = [throttled, { status: 500, type: 'InternalServerError', message: 'secret text' }];
    for (const fault of failures) {
      const stopFailing = world.failing(fault, ({ service }) => service === 'dynamodb');
      // A token that nobody has used yet, so that none is remembered.
      const answers = await Promise.all([
        client.get('/notifications'),
        client.get(`/notifications/${id}`),
        client.post('/notifications', webhook),
        client.put(`/notifications/${id}`, { label: 'x' }),
        client.delete(`/notifications/${id}`),
        client.post('/test-notification', { type: 'managed' }),
        client.post(`/notifications/${id}/test`),
        client.get('/notification_types'),
      ]);
      stopFailing();
      for (const { status, headers, body, text } of answers) {
        expect([status, headers.get('retry-after')]).toEqual([503, '2']);
        expect(body).toMatchObject({ type: 'serviceUnavailable', code: 503 });
        expect(text).not.toContain('secret text');
      }
    }
    expect((await client.get(`/notifications/${id}`)).body).toEqual({ id, ...webhook });
  });

  it('a sender that cannot run makes a test 503, and counts as none of the destination', async () => {
    const stopFailing = world.failing(
      { status: 500, type: 'ServiceException', message: '' },
      ({ service }) => service === 'lambda',
    );
    const answer = await client.post('/test-notification', { type: 'managed' });
    stopFailing();
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '2']);
  });

  it('an alert waits out a database that throttles the sender, and uses no attempt for it', async () => {
    const sink = await openSink();
    const id = await client.create({ ...webhook, details: { url: sink.url } });
    let refusals = 0;
    const stopFailing = world.failing(
      throttled,
      ({ service, caller }) => service === 'dynamodb' && caller.includes('send-webhook') && ++refusals < 9,
    );
    await world.sendEvents([newAlarmEvent(client.tenant, [id])]);
    await world.hurried(sink.wait(1));
    stopFailing();
    expect(refusals).toBeGreaterThan(3);
    expect(await world.hurried(world.delivery(client.tenant, id, 'delivered'))).toMatchObject({ attempt_count: 1 });
    expect(sink.received).toHaveLength(1);
  });

  it('an alert waits out a database that throttles the dispatch', async () => {
    const sink = await openSink();
    const id = await client.create({ ...webhook, details: { url: sink.url } });
    let refusals = 0;
    const stopFailing = world.failing(
      throttled,
      ({ service, caller }) => service === 'dynamodb' && caller.includes('dispatch') && ++refusals < 5,
    );
    await world.sendEvents([newAlarmEvent(client.tenant, [id])]);
    await world.hurried(sink.wait(1));
    stopFailing();
    expect(refusals).toBeGreaterThan(3);
  });

  it('a queue that takes only a part of a batch loses and doubles nothing', async () => {
    const sink = await openSink();
    const ids = await Promise.all(
      Array.from({ length: 6 }, () => client.create({ ...webhook, details: { url: sink.url } })),
    );
    const serve = world.stack.endpoint.services.get('sqs');
    if (!serve) throw new Error('There is no queue.');
    let partly = 0;
    world.stack.endpoint.services.set('sqs', async (call) => {
      if (call.action !== 'SendMessageBatch' || !call.caller.includes('dispatch') || partly > 0) return serve(call);
      partly++;
      const { QueueUrl, Entries } = JSON.parse(call.body.toString('utf8'));
      const body = Buffer.from(JSON.stringify({ QueueUrl, Entries: Entries.slice(0, 2) }));
      const answer = await serve({ ...call, body });
      const taken = JSON.parse(answer.body.toString());
      const Failed = Entries.slice(2).map(({ Id }: { Id: string }) => ({
        Id,
        Code: 'InternalError',
        SenderFault: false,
      }));
      return { ...answer, body: JSON.stringify({ ...taken, Failed }) };
    });
    await world.sendEvents([newAlarmEvent(client.tenant, ids)]);
    await world.hurried(sink.wait(6));
    world.stack.endpoint.services.set('sqs', serve);
    for (const id of ids)
      expect(await world.hurried(world.delivery(client.tenant, id, 'delivered'))).toMatchObject({ attempt_count: 1 });
    expect(partly).toBe(1);
    expect(sink.received).toHaveLength(6);
  });

  const service = (name: string) => (call: { service: string; action: string }) =>
    call.service === name && /SendEmail|Publish/.test(call.action);
  const sesFaults: [code: string, message: string, reason: string][] = [
    ['AccountSendingPausedException', 'paused', 'sender_misconfigured'],
    ['ConfigurationSetDoesNotExist', 'gone', 'sender_misconfigured'],
    ['MailFromDomainNotVerifiedException', 'no', 'sender_misconfigured'],
    ['MessageRejected', 'Email address is not verified.', 'sender_misconfigured'],
    ['InternalFailure', 'oops', 'rejected'],
  ];

  it.each(sesFaults)(
    'mail that SES refuses with %s (%s) is tried again and arrives when ops have mended it',
    async (type, message, reason) => {
      const address = `${type.toLowerCase()}@example.com`;
      const id = await client.create({ label: 'm', type: 'email', details: { address } });
      const stopFailing = world.failing({ status: 400, type, message }, service('ses'));
      await world.sendEvents([newAlarmEvent(client.tenant, [id])]);
      await until(async () => world.lines.find((line) => line.includes(id) && line.includes(reason)));
      stopFailing();
      await world.hurried(world.sent(1, (one) => one.kind === 'email' && one.to.includes(address)));
      const { attempts } = await world.hurried(world.delivery(client.tenant, id, 'delivered'));
      expect(attempts).toBeGreaterThan(1);
    },
  );

  it.each([
    ['Throttling', 'Maximum sending rate exceeded.'],
    ['Throttling', 'Daily message quota exceeded.'],
  ])('mail that SES throttles (%s: %s) waits without using attempts', async (type, message) => {
    const address = `t-${message.slice(0, 5).toLowerCase()}@example.com`;
    const id = await client.create({ label: 'm', type: 'email', details: { address } });
    let refusals = 0;
    const stopFailing = world.failing(
      { status: 400, type, message },
      (call) => service('ses')(call) && ++refusals <= 2,
    );
    await world.sendEvents([newAlarmEvent(client.tenant, [id])]);
    await world.hurried(world.sent(1, (one) => one.kind === 'email' && one.to.includes(address)));
    stopFailing();
    expect(await world.hurried(world.delivery(client.tenant, id, 'delivered'))).toMatchObject({ attempt_count: 1 });
  });

  it.each([
    ['email', { address: 'nobody@example.com' }, 'ses', 'MessageRejected', 'Address blacklisted.'],
    ['email', { address: 'nobody@example.com' }, 'ses', 'InvalidParameterValue', 'Illegal address'],
    ['sms', { phone_number: '+12025550111' }, 'sns', 'OptedOut', 'The number opted out.'],
    ['sms', { phone_number: '+12025550111' }, 'sns', 'InvalidParameter', 'Bad number'],
    ['sms', { phone_number: '+12025550111' }, 'sns', 'EndpointDisabled', 'Disabled'],
  ])('an alert by %s to %o is dead-lettered when %s says %s (%s)', async (type, details, of, code, message) => {
    const id = await client.create({ label: 'd', type, details });
    const stopFailing = world.failing({ status: 400, type: code, message }, service(of));
    const event = newAlarmEvent(client.tenant, [id]);
    await world.sendEvents([event]);
    const queue = type === 'email' ? 'email' : 'sms';
    const dead = await world.deadLetter(queue, (body) => body.includes(event.event_id));
    stopFailing();
    expect(dead.attributes).toMatchObject({ reason: 'rejected', cause: 'destination', attempts: '1' });
  });

  it("an owner's notice that mail refuses is dead-lettered like any alert, and not let go", async () => {
    const owner = await world.newClient();
    await createAccountRepository(world.documents, world.table('Accounts')).setTechnicalContacts(owner.tenant, [
      'owner@example.com',
    ]);
    const sink = await openSink((response) => response.writeHead(410).end());
    const id = await owner.create({ ...webhook, details: { url: sink.url } });
    const stopFailing = world.failing(
      { status: 400, type: 'InvalidParameterValue', message: 'Illegal address' },
      service('ses'),
    );
    await world.sendEvents([newAlarmEvent(owner.tenant, [id])]);
    const dead = await world.deadLetter('technicalContactsEmail', (body) => body.includes(`${id}:undelivered`));
    stopFailing();
    expect(dead.attributes).toMatchObject({ reason: 'rejected' });
  });
});
