import { beforeEach, describe, expect, it, vi } from 'vitest';
import { createDeliveryRepository } from '../../shared/adapters/deliveries/delivery-repository.ts';
import { logger } from '../../shared/adapters/logger.ts';
import { createNotificationReader } from '../../shared/adapters/notifications/notification-reader.ts';
import { createTargetReader } from '../../shared/adapters/notifications/notification-targets.ts';
import type { Queues } from '../../shared/adapters/queues.ts';
import { type AttemptOutcome, failed } from '../../shared/domain/attempt-outcome.ts';
import { recipientHash } from '../../shared/domain/delivery-key.ts';
import { deliveryBody, sharedBody } from '../../shared/domain/delivery-message.ts';
import { LEASE_MS } from '../../shared/domain/delivery-record.ts';
import { emailTags } from '../../shared/domain/email-event.ts';
import { newNotificationId } from '../../shared/domain/notification-id.ts';
import { createEmailEventRecorder } from '../../shared/pipeline/email-events.ts';
import { createDeliveryReports } from '../../shared/pipeline/notices/delivery-reports.ts';
import { createDeliver } from '../../shared/pipeline/sender/deliver.ts';
import { createJob } from '../../shared/pipeline/sender/delivery-job.ts';
import { createFailureReport } from '../../shared/pipeline/sender/failure-report.ts';
import { useDatabase } from '../support/dynamodb.ts';
import { type LateRequest, withKilledWorker, withLateCopies, withLostResponse } from '../support/dynamodb-faults.ts';
import { alarmEvent, readDelivery } from '../support/events.ts';
import { reportEnvironment } from '../support/report-environment.ts';
import { senderDependencies } from '../support/sender-dependencies.ts';
import { sqsMessage } from '../support/sqs-message.ts';

/*
 * Emails to two technical contacts, A and B, whose bounces SES reports at any time after it accepted them: before,
 * between and after the writes of the sender.
 */

const { connect } = useDatabase();
type Database = ReturnType<typeof connect>;

const START_MS = Date.UTC(2026, 0, 1);
const DAY_MS = 86_400_000;

type Contact = 'a@example.com' | 'b@example.com';
const A: Contact = 'a@example.com';
const B: Contact = 'b@example.com';
/** How SES responds to the email for a contact. */
type Response = 'accept' | 'reject' | 'fail';

const failures = {
  reject: failed('permanent', 'rejected', ''),
  fail: failed('transient', 'rejected', ''),
} as const;

beforeEach(() => {
  for (const level of ['warn', 'error'] as const) vi.spyOn(logger, level).mockImplementation(() => undefined);
  vi.spyOn(process.stdout, 'write').mockImplementation(() => true);
  return () => vi.restoreAllMocks();
});

const accounts = { escalationNotifications: async () => [] };

/** The event has no other destinations. */
const readDestinationList = async () => [];

/** Sets up the sender and the recorder of email events for one alert, and the clock that they share. */
const setUp = (responses: Record<Contact, Response> = { [A]: 'accept', [B]: 'accept' }) => {
  let nowMs = START_MS;
  const clock = () => nowMs;
  const id = newNotificationId();
  const alarm = newNotificationId();
  const event = alarmEvent({ event_id: `acme:enAAAA:${alarm}:chCCCC:${START_MS}:CRITICAL`, alarm: { id: alarm } });
  const escalated = new Set<string>();
  /** The bodies of the messages that the sender sent to its retry and dead-letter queues. */
  const retries: string[] = [];
  const deadLetters: string[] = [];
  const queues: Queues = {
    sendAll: async () => [],
    sendDelayed: async (url, { body }) => {
      const { event: notice, notice: content } = readDelivery(body);
      if (content?.kind === 'unreached' && url.includes('managed')) escalated.add(notice.event_id);
      if (!content) retries.push(body);
    },
    changeVisibility: async () => undefined,
    sendToDeadLetterQueue: async (_url, { body }) => {
      deadLetters.push(body);
    },
  };
  const sent: string[] = [];
  let onAccepted = async (): Promise<void> => undefined;
  /** Enough for a send, and then too little to repeat a write that failed. */
  let timeLeftMs = 0;

  const newJob = (database: Database, body: string, receiveCount: number) => {
    const deliveries = createDeliveryRepository(database, 'deliveries');
    const notifications = {
      ...createNotificationReader(database, 'notifications'),
      ...createTargetReader(database, 'notifications'),
    };
    const message = sqsMessage({ body });
    const dependencies = senderDependencies(database, {
      type: 'technicalContactsEmail',
      transport: async ({ deliveryId: salt, reachedRecipientHashes }): Promise<AttemptOutcome> => {
        const contacts = [A, B]
          .map((contact) => ({ contact, hash: recipientHash(salt, contact), response: responses[contact] }))
          .filter(({ hash }) => !reachedRecipientHashes.includes(hash));
        const accepted = contacts.filter(({ response }) => response === 'accept');
        sent.push(...accepted.map(({ contact }) => contact));
        await onAccepted();
        timeLeftMs = 5_000;
        const hashes = [...reachedRecipientHashes, ...accepted.map(({ hash }) => hash)];
        const failure = ['fail', 'reject'] as const;
        const kind = failure.find((wanted) => contacts.some(({ response }) => response === wanted));
        const outcome = kind ? failures[kind] : ({ result: 'delivered', explanation: '' } as const);
        return { ...outcome, reachedRecipientHashes: hashes };
      },
      queues,
      reports: createDeliveryReports(
        { client: database, queues, notifications, deliveries, readDestinationList, accounts, clock },
        reportEnvironment,
      ),
      clock,
    });
    const job = createJob('technicalContactsEmail', {
      message: { ...message, attributes: { ...message.attributes, ApproximateReceiveCount: String(receiveCount) } },
      body: readDelivery(body),
      timeLeft: () => timeLeftMs,
    });
    return { job, dependencies };
  };

  const firstBody: string = deliveryBody(id, sharedBody(event, { accepted_at_ms: START_MS }), []);
  let receives = 0;

  /** Receives the alert's message once, as a sender with this connection to DynamoDB. */
  const deliver = async (database: Database = connect(), body = firstBody) => {
    timeLeftMs = 20_000;
    const { job, dependencies } = newJob(database, body, ++receives);
    const target = Promise.resolve({ id, type: 'technicalContactsEmail' as const, details: {} });
    const result = await createDeliver(dependencies)(job, target);
    await createFailureReport(dependencies)([{ job, result }]);
    return result.kind;
  };

  /** SES reports that the email to a contact bounced. @returns true if the event was handled */
  const bounce = async (
    contact: Contact,
    { database = connect(), kind = 'Bounce' }: { database?: Database; kind?: 'Bounce' | 'Reject' } = {},
  ): Promise<boolean> => {
    const environment = {
      ...reportEnvironment,
      DELIVERIES_TABLE: 'deliveries',
      NOTIFICATIONS_TABLE: 'notifications',
      EMAIL_EVENTS_QUEUE: 'https://sqs/email-events',
    };
    const tags = Object.fromEntries(Object.entries(emailTags(event, id)).map(([name, value]) => [name, [value]]));
    const mail = { messageId: `email-${contact.slice(0, 1)}`, destination: [contact], tags };
    const body = JSON.stringify({ source: 'aws.ses', detail: { eventType: kind, mail } });
    const recorder = createEmailEventRecorder(database, queues, environment, clock);
    const { batchItemFailures } = await recorder({ Records: [sqsMessage({ body })] });
    return batchItemFailures.length === 0;
  };

  const record = async () => {
    const [found] = await createDeliveryRepository(connect(), 'deliveries').listNewest(
      { tenant: event.tenant_id, notificationId: id },
      1,
    );
    return found;
  };

  return {
    deliver,
    bounce,
    record,
    responses,
    sent,
    retries,
    deadLetters,
    firstBody,
    escalations: () => escalated.size,
    status: async () => (await record())?.status,
    advance: (ms: number) => {
      nowMs += ms;
    },
    /** Runs during the attempt, after SES accepted the emails and before the sender writes that. */
    onAccepted: (act: () => Promise<unknown>) => {
      onAccepted = async () => {
        onAccepted = async () => undefined;
        await act();
      };
    },
  };
};

/** Runs `act` before the request with this number, counted from 1. */
const beforeRequest = (database: Database, number: number, act: () => Promise<unknown>) => {
  let count = 0;
  database.middlewareStack.add(
    (next) => async (args) => {
      if (++count === number) await act();
      return next(args);
    },
    { step: 'build' },
  );
  return database;
};

/** More than the requests of a sender or a recorder. */
const REQUESTS = Array.from({ length: 8 }, (_, index) => index + 1);

describe('an alert that SES accepts for A and rejects for B', () => {
  const rejectsB = () => setUp({ [A]: 'accept', [B]: 'reject' });

  it('has reached A: it is not escalated', async () => {
    const { deliver, status, escalations } = rejectsB();
    expect(await deliver()).toBe('dead_lettered');
    expect(await status()).toBe('failed');
    expect(escalations()).toBe(0);
  });

  it.each(['Bounce', 'Reject'] as const)(
    'is bounced and escalated once SES reports a %s of the email to A',
    async (kind) => {
      const { deliver, bounce, record, escalations } = rejectsB();
      await deliver();
      await bounce(A, { kind });
      expect(await record()).toMatchObject({
        status: 'bounced',
        last_reason: kind === 'Bounce' ? 'bounced' : 'rejected',
      });
      expect(escalations()).toBe(1);
    },
  );

  it.each(REQUESTS)('is bounced and escalated if the bounce comes before request %i of the sender', async (number) => {
    const { deliver, bounce, status, escalations, sent } = rejectsB();
    let hasBounced = false;
    const bounceOnce = async () => {
      // SES reports nothing before it has accepted the email.
      if (sent.length === 0) return;
      hasBounced = true;
      await bounce(A);
    };
    await deliver(beforeRequest(connect(), number, bounceOnce));
    if (!hasBounced) await bounce(A);
    expect(await status()).toBe('bounced');
    expect(escalations()).toBe(1);
  });

  it('can be redelivered to B', async () => {
    const { deliver, bounce, responses, deadLetters, record, sent } = rejectsB();
    await deliver();
    await bounce(A);
    responses[B] = 'accept';
    expect(await deliver(connect(), deadLetters[0])).toBe('delivered');
    expect(sent).toEqual([A, B]);
    expect(await record()).toMatchObject({ status: 'delivered', round: 2 });
  });

  it('is bounced and escalated if the email to A bounces in the round in which B accepts, and B bounces too', async () => {
    const { deliver, bounce, responses, deadLetters, status, escalations } = rejectsB();
    await deliver();
    responses[B] = 'accept';
    await deliver(connect(), deadLetters[0]);
    await bounce(A);
    expect([await status(), escalations()]).toEqual(['delivered', 0]);
    await bounce(B);
    expect([await status(), escalations()]).toEqual(['bounced', 1]);
  });
});

describe('an alert whose email to A bounces while the email to B is still retried', () => {
  /** Sends the email to A, whose bounce SES reports before the retry for B. */
  const bouncedA = async () => {
    const world = setUp({ [A]: 'accept', [B]: 'fail' });
    expect(await world.deliver()).toBe('retried');
    await world.bounce(A);
    expect([await world.status(), world.escalations()]).toEqual(['pending', 0]);
    world.advance(20_000);
    return world;
  };

  it('is delivered if B accepts', async () => {
    const { deliver, responses, status, escalations } = await bouncedA();
    responses[B] = 'accept';
    expect(await deliver()).toBe('delivered');
    expect([await status(), escalations()]).toEqual(['delivered', 0]);
  });

  it('is bounced and escalated if B accepts and bounces', async () => {
    const { deliver, bounce, responses, status, escalations } = await bouncedA();
    responses[B] = 'accept';
    await deliver();
    await bounce(B);
    expect([await status(), escalations()]).toEqual(['bounced', 1]);
  });

  it('is bounced and escalated by the sender if B bounces before the sender records the delivery', async () => {
    const { deliver, bounce, onAccepted, responses, record, escalations } = await bouncedA();
    responses[B] = 'accept';
    onAccepted(() => bounce(B, { kind: 'Reject' }));
    expect(await deliver()).toBe('delivered');
    expect(await record()).toMatchObject({ status: 'bounced', last_reason: 'rejected' });
    expect(escalations()).toBe(1);
  });

  it('is escalated as soon as the retries count as failing, like an alert that reached nobody', async () => {
    const { deliver, advance, escalations, status } = await bouncedA();
    for (let attempt = 0; attempt < 3; attempt++) {
      expect(await deliver()).toBe('retried');
      advance(10 * 60_000);
    }
    expect([await status(), escalations()]).toEqual(['pending', 1]);
  });

  it('is dead-lettered, bounced and escalated if B is rejected', async () => {
    const { deliver, responses, deadLetters, status, escalations } = await bouncedA();
    responses[B] = 'reject';
    expect(await deliver()).toBe('dead_lettered');
    expect(deadLetters).toHaveLength(1);
    expect([await status(), escalations()]).toEqual(['bounced', 1]);
  });
});

describe('an alert whose email to A bounces while the retries for B count as failing', () => {
  it('is escalated at once', async () => {
    const { deliver, bounce, advance, status, escalations } = setUp({ [A]: 'accept', [B]: 'fail' });
    for (let attempt = 0; attempt < 4; attempt++) {
      expect(await deliver()).toBe('retried');
      advance(10 * 60_000);
    }
    expect(escalations()).toBe(0);
    await bounce(A);
    expect([await status(), escalations()]).toEqual(['pending', 1]);
  });
});

describe('an alert whose emails to A and B both bounce', () => {
  it('is bounced and escalated once if SES reports both at the same time, several times', async () => {
    const { deliver, bounce, status, escalations } = setUp();
    await deliver();
    await Promise.all([bounce(A), bounce(B), bounce(A), bounce(B)]);
    expect([await status(), escalations()]).toEqual(['bounced', 1]);
  });

  it.each(REQUESTS)(
    'is bounced and escalated if one bounces before request %i of the sender and the other one later',
    async (number) => {
      const { deliver, bounce, sent, status, escalations } = setUp();
      await deliver(beforeRequest(connect(), number, async () => sent.length > 0 && bounce(A)));
      await bounce(A);
      await bounce(B);
      expect([await status(), escalations()]).toEqual(['bounced', 1]);
    },
  );

  it.each(REQUESTS)('is bounced and escalated if the sender crashes at its request %i', async (number) => {
    for (const effect of ['lost', 'applied'] as const) {
      const { deliver, bounce, sent, advance, onAccepted, status, escalations } = setUp();
      onAccepted(async () => {
        await bounce(A);
        await bounce(B);
      });
      await deliver(withKilledWorker(connect(), number, effect, [])).catch(() => undefined);
      // The lease ends, SQS delivers the message again, and SES reports the bounces again.
      advance(LEASE_MS + 180_000);
      await deliver();
      if (sent.length > 0) for (const contact of [A, B] as const) await bounce(contact);
      expect([await status(), escalations()]).toEqual(['bounced', 1]);
    }
  });

  it.each(REQUESTS)('is bounced and escalated if the recorder crashes at its request %i', async (number) => {
    for (const effect of ['lost', 'applied'] as const) {
      const { deliver, bounce, status, escalations } = setUp();
      await deliver();
      await bounce(A);
      // SQS delivers the event again.
      const isHandled = await bounce(B, { database: withKilledWorker(connect(), number, effect, []) });
      if (!isHandled) expect(await bounce(B)).toBe(true);
      expect(await status()).toBe('bounced');
      // A notice that cannot be queued raises an alarm, and no crash repeats the event.
      if (!isHandled) expect(escalations()).toBe(1);
    }
  });

  it.each(['PutItemCommand', 'UpdateItemCommand'])(
    'is bounced and escalated if the response to a %s of the sender is lost and the SDK repeats it',
    async (command) => {
      for (const number of [1, 2, 3]) {
        const { deliver, bounce, onAccepted, status, escalations } = setUp();
        onAccepted(async () => {
          await bounce(A);
          await bounce(B);
        });
        await deliver(withLostResponse(connect({ maxAttempts: 2 }), command, { number }));
        expect([await status(), escalations()]).toEqual(['bounced', 1]);
      }
    },
  );

  it('is bounced and escalated if both bounce between the copies of the write that records the delivery', async () => {
    const { deliver, bounce, status, escalations } = setUp();
    const meanwhile = async () => {
      await bounce(A);
      await bounce(B);
    };
    await deliver(withLostResponse(connect({ maxAttempts: 2 }), 'UpdateItemCommand', { meanwhile }));
    expect([await status(), escalations()]).toEqual(['bounced', 1]);
  });

  it('stays bounced if late copies of all writes of the sender and the recorder are applied afterwards', async () => {
    const { deliver, bounce, responses, advance, record, escalations } = setUp({ [A]: 'accept', [B]: 'fail' });
    const late: LateRequest[] = [];
    await deliver(withLateCopies(connect(), late));
    await bounce(A, { database: withLateCopies(connect(), late) });
    advance(20_000);
    responses[B] = 'accept';
    await deliver(withLateCopies(connect(), late));
    await bounce(B, { database: withLateCopies(connect(), late) });
    const bounced = await record();
    expect(bounced?.status).toBe('bounced');
    for (const { send } of late) await send();
    expect(await record()).toEqual(bounced);
    expect(escalations()).toBe(1);
  });
});

describe('an alert redelivered after its email to A bounced', () => {
  it('is not marked as bounced by a late copy of the write that marked its previous round', async () => {
    const { deliver, bounce, deadLetters, responses, status } = setUp({ [A]: 'accept', [B]: 'reject' });
    await deliver();
    const late: LateRequest[] = [];
    await bounce(A, { database: withLateCopies(connect(), late) });
    responses[B] = 'fail';
    await deliver(connect(), deadLetters[0]);
    for (const { send } of late) await send();
    expect(await status()).toBe('pending');
  });

  it('reports the delivery of a day later as delivered if only the email to B arrived', async () => {
    const { deliver, bounce, advance, deadLetters, responses, status, escalations } = setUp({
      [A]: 'accept',
      [B]: 'reject',
    });
    await deliver();
    advance(DAY_MS);
    responses[B] = 'accept';
    await deliver(connect(), deadLetters[0]);
    await bounce(A);
    expect([await status(), escalations()]).toEqual(['delivered', 0]);
  });
});
