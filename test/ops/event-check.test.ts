import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { checkEvents, splitEvents, withAdvice } from '../../bin/ops/event-check.ts';
import { logger } from '../../shared/adapters/logger.ts';
import { HEARTBEAT_TENANT } from '../../shared/contracts/alarm-event.ts';
import { alarmEventJsonSchema } from '../../shared/contracts/alarm-event-schema.ts';
import { messageBody } from '../../shared/contracts/messages.ts';
import { noDeliveryReasons } from '../../shared/domain/planned-event.ts';
import { createDispatch } from '../../shared/pipeline/dispatch/dispatch.ts';
import { alarmEvent, EVENT_TIME_MS } from '../support/events.ts';
import { queueUrl, senderQueueUrls } from '../support/queue-urls.ts';
import { runs } from '../support/quick-run.ts';
import { sqsMessage } from '../support/sqs-message.ts';

const NOW_MS = EVENT_TIME_MS + 1_000;

const validatesSchema = new Ajv2020({ strict: false }).compile(alarmEventJsonSchema());

/** What dispatch reports about an event: in its log and, for an invalid one, in the dead letter. */
type Report = { detail?: string | undefined; warnings?: string | undefined; noDelivery: string | undefined };

const reportOf = (
  { detail, warnings }: { detail?: string | undefined; warnings?: string | undefined },
  noDelivery?: string,
): Report => ({ detail, warnings, noDelivery });

/** Dispatches an event. @returns what the log and, if there is one, the dead letter report */
const dispatched = async (text: string): Promise<{ logged: Report; deadLetter: Report | undefined }> => {
  const warn = vi
    .spyOn(logger, 'warn')
    .mockClear()
    .mockImplementation(() => undefined);
  const info = vi
    .spyOn(logger, 'info')
    .mockClear()
    .mockImplementation(() => undefined);
  let deadLetter: Report | undefined;
  const dispatch = createDispatch(
    { targets: () => ({ find: async ({ id }) => ({ id, type: 'webhook', details: {} }) }) },
    {
      sendAll: async () => [],
      sendDelayed: async () => undefined,
      changeVisibility: async () => undefined,
      sendToDeadLetterQueue: async (_url, _message, reason) => {
        deadLetter = reportOf(reason);
      },
    },
    async () => {},
    {
      ALARM_EVENTS_QUEUE: queueUrl('AlarmEvents'),
      DEAD_LETTER_QUEUE: queueUrl('DeadLetters'),
      SENDER_QUEUES: senderQueueUrls,
      REPORTS_QUEUE: queueUrl('Reports'),
    },
    () => NOW_MS,
  );
  const attributes = { ...sqsMessage().attributes, SentTimestamp: String(NOW_MS) };
  await dispatch({ Records: [sqsMessage({ body: messageBody(text), attributes })] });
  const fields = [...warn.mock.calls, ...info.mock.calls].map(([message, extra]) => ({
    message: String(message),
    ...Object(extra),
  }));
  const found = fields.find(({ message }) => ['invalid event', 'event with warnings'].includes(message));
  const loggedMessages: Record<string, string> = {
    'event unchanged': noDeliveryReasons.unchanged,
    'event without destination': noDeliveryReasons.no_destination,
  };
  const noDelivery = fields.flatMap(({ message }) => loggedMessages[message] ?? [])[0];
  return { logged: reportOf(found ?? {}, noDelivery), deadLetter };
};

const checked = (text: string): Report => {
  const [result] = checkEvents([{ file: '-', text }], NOW_MS);
  if (!result) throw new Error('No result.');
  const isNoDelivery = (warning: string) => Object.values<string>(noDeliveryReasons).includes(warning);
  const warnings = result.warnings.filter((warning) => !isNoDelivery(warning));
  return reportOf(
    { detail: result.errors.join('; ') || undefined, warnings: warnings.join('; ') || undefined },
    result.warnings.find(isNoDelivery),
  );
};

/** An integer that only its digits represent, as JSON. */
const LONG = 'LONG_NUMBER';
const junk = fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constantFrom(LONG, null, '', 0, [], {}));
const list = fc.oneof(fc.array(fc.constantFrom('ntA', 'ntB')), fc.array(fc.oneof(fc.constant('ntA'), junk)), junk);
const plan = fc.oneof(
  fc.dictionary(
    fc.constantFrom('id', 'critical_state', 'warning_state', 'ok_state', 'critical', 'Ok_State', '__proto__'),
    list,
  ),
  junk,
);
const state = fc.constantFrom('OK', 'WARNING', 'CRITICAL');
const time = fc.oneof(
  fc.constantFrom(EVENT_TIME_MS, EVENT_TIME_MS + 61_001, EVENT_TIME_MS + 61_002, 1_700_000_000, 1e-200, LONG),
  junk,
);
const details = fc.oneof(
  fc.record({ state: fc.oneof(state, junk), timestamp: time }, { requiredKeys: [] }),
  fc.record({ state, timestamp: time }, { requiredKeys: ['state'] }),
  junk,
);
const eventId = fc.oneof(
  fc.constantFrom('e', `a:${EVENT_TIME_MS}:OK`, 'a:1700000000:OK', 'x'.repeat(512), 'x'.repeat(513), '😀'.repeat(512)),
  fc.constantFrom('😀'.repeat(513), `😀${'x'.repeat(511)}`, `${'x'.repeat(511)}😀x`),
  junk,
);
const tenant = fc.oneof(
  fc.string({ maxLength: 3 }),
  fc.constantFrom('t'.repeat(128), 't'.repeat(129), 'a\n', HEARTBEAT_TENANT),
  junk,
);
const withId = fc.oneof(fc.record({ id: fc.oneof(fc.string(), junk) }), junk);
const fields = {
  event_id: eventId,
  tenant_id: tenant,
  details,
  entity: withId,
  alarm: withId,
  previous_state: fc.oneof(state, junk),
  notification_plan: plan,
  other: junk,
};
const isField = (key: string): key is keyof typeof fields => Object.hasOwn(fields, key);
/** A change of one field of a valid event: another value, or none. */
const change = fc
  .constantFrom(...Object.keys(fields).filter(isField), 'notification_plan' as const, 'details' as const)
  .chain((key) => fc.option(fields[key], { nil: undefined, freq: 8 }).map((value): object => ({ [key]: value })));
/** Most events break few rules. */
const event = fc.oneof(
  { arbitrary: junk, weight: 1 },
  {
    arbitrary: fc
      .array(change, { maxLength: 3 })
      .map((all): unknown => Object.assign(alarmEvent({ notification_plan: { critical_state: ['ntA'] } }), ...all)),
    weight: 9,
  },
);

describe('the validators of an alarm event', () => {
  beforeEach(() => {
    vi.spyOn(process.stdout, 'write').mockImplementation(() => true);
    return () => vi.restoreAllMocks();
  });

  it('agree on every event: the JSON Schema, event check, the log and the dead letter', async () => {
    const seen = { valid: 0, invalid: 0, warned: 0, withoutDestination: 0 };
    await fc.assert(
      fc.asyncProperty(event, async (value) => {
        const text = JSON.stringify(value).replaceAll(`"${LONG}"`, '12345678901234567890');
        const report = checked(text);
        const { logged, deadLetter } = await dispatched(text);
        const isValid = report.detail === undefined;
        expect(logged).toEqual(report);
        expect(deadLetter).toEqual(isValid ? undefined : report);
        expect(validatesSchema(JSON.parse(text))).toBe(isValid);
        if (isValid) seen.valid++;
        else seen.invalid++;
        if (report.warnings !== undefined) seen.warned++;
        if (report.noDelivery !== undefined) seen.withoutDestination++;
      }),
      { numRuns: runs(1_000) },
    );
    for (const [kind, count] of Object.entries(seen)) expect(count, kind).toBeGreaterThan(20);
  });

  it.each([
    ['an event above 256 KiB', JSON.stringify(alarmEvent({ check: 'x'.repeat(256 * 1024) }))],
    ['a text that is not JSON', '{"event_id":'],
  ])('agree on what the JSON Schema cannot express: %s', async (_, text) => {
    const report = checked(text);
    expect(report.detail).toMatch(/^the event must be/);
    expect(await dispatched(text)).toEqual({ logged: report, deadLetter: report });
  });
});

describe('the advice about events that dispatch does not give', () => {
  const plan = { critical_state: ['ntA'] };
  const advised = (...events: object[]) => {
    const inputs = events.map((each, index) => ({ file: 'f', line: index + 1, text: JSON.stringify(each) }));
    return withAdvice(checkEvents(inputs, NOW_MS)).map(({ errors, warnings }) => [...errors, ...warnings]);
  };

  it('is none for events of one alarm', () => {
    const raised = alarmEvent({ notification_plan: plan });
    expect(advised(raised, { ...raised, event_id: 'other' })).toEqual([[], []]);
  });

  it('names lists of a plan whose keys are not known, and the known ones', () => {
    const misspelled = { critcal_state: ['ntA'], 'n\u001b[2J': [], label: 'Ops' };
    const [own = []] = advised(alarmEvent({ notification_plan: { ...plan, ...misspelled } }));
    expect(own).toEqual([
      expect.stringContaining('no lists other than'),
      expect.stringMatching(/^notification_plan\.critcal_state is unknown: the nearest known list is critical_state$/),
      expect.stringMatching(/^notification_plan\.n\ufffd\[2J is unknown: the lists are .*critical_state/),
    ]);
  });

  it('names a misspelled key, and no other key that producers may send', () => {
    const { previous_state: _, ...event } = alarmEvent({ notification_plan: plan });
    const details = { state: 'CRITICAL', own: 1, timestmap: 1_700_000_000_000 };
    expect(advised({ ...event, previousState: 'OK', customer: 'Acme', details })).toEqual([
      [
        'previousState is unknown: the nearest known key is previous_state',
        'details.timestmap is unknown: the nearest known key is timestamp',
      ],
    ]);
  });

  it('says that an event whose state did not change is not sent', () => {
    const [own] = advised(alarmEvent({ notification_plan: plan, previous_state: 'CRITICAL' }));
    expect(own).toContain('previous_state equals details.state, so the event is not sent');
  });

  it('names what differs between an event and its ID, if that has the form of the documents', () => {
    const event = alarmEvent({ notification_plan: plan });
    const copies = ['globex:en:alOther:ch:1700000000000:OK', 'x:OK', 'OK', 'x:y:OK:z', 'a:b:c:d:e:OK:CRITICAL'];
    expect(advised(...copies.map((event_id) => ({ ...event, event_id })))).toEqual([
      [
        'event_id names another tenant_id: globex',
        'event_id names another alarm.id: alOther',
        'event_id names another details.state: OK',
      ],
      ['event_id names another details.state: OK'],
      [],
      [],
      [],
    ]);
  });

  it('names notifications that a list of the plan has twice', () => {
    const repeated = { critical_state: ['ntA', 'ntB', 'ntA', 'ntA'], ok_state: ['ntB', 'ntA'] };
    expect(advised(alarmEvent({ notification_plan: repeated }))).toEqual([
      ['notification_plan.critical_state lists notifications twice: ntA'],
    ]);
  });

  it('says which event has the same ID and tenant, but other content', () => {
    const first = alarmEvent({ notification_plan: plan });
    const conflicting = { ...first, check: { id: 'another' } };
    const ofOtherTenant = { ...conflicting, tenant_id: 'globex' };
    const otherPlan = { ...first, notification_plan: { critical_state: ['ntB'] } };
    expect(advised(first, conflicting, ofOtherTenant, otherPlan, first)).toEqual([
      [],
      ['event_id is also that of f, line 1, whose content differs: only the one that arrives first is sent'],
      ['event_id names another tenant_id: acme'],
      [],
      [],
    ]);
  });
});

describe('the events in a text', () => {
  const places = (text: string) => splitEvents('f', text).map(({ line, index, text: each }) => [line ?? index, each]);

  it('are one event in any layout', () => {
    const text = JSON.stringify(alarmEvent(), undefined, 2);
    expect(splitEvents('f', text)).toEqual([{ file: 'f', text }]);
  });

  it('are the items of an array with every digit of their numbers', () => {
    expect(places(' [{"a":1.0},\n "x", 12345678901234567890] ')).toEqual([
      [0, '{"a":1.0}'],
      [1, '"x"'],
      [2, '12345678901234567890'],
    ]);
  });

  it('are the lines of NDJSON, of which some may be invalid', () => {
    expect(places('{"a":1}\r\n\n{broken\n{"b":2}\n')).toEqual([
      [1, '{"a":1}\r'],
      [3, '{broken'],
      [4, '{"b":2}'],
    ]);
  });

  it('are one invalid event if the text is neither JSON nor NDJSON', () => {
    expect(places('{\n  "a": 1,\n}\n')).toEqual([[undefined, '{\n  "a": 1,\n}\n']]);
  });

  it.each(['', ' \n', '[]'])('are none in %j', (text) => {
    expect(splitEvents('f', text)).toEqual([]);
  });
});
