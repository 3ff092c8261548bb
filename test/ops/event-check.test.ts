import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkEvents, splitEvents, withAdvice } from '../../bin/ops/event-check.ts';
import { HEARTBEAT_TENANT } from '../../shared/contracts/alarm-event.ts';
import { alarmEventJsonSchema } from '../../shared/contracts/alarm-event-schema.ts';
import { alarmEvent, EVENT_TIME_MS } from '../support/events.ts';
import { runs } from '../support/quick-run.ts';

const NOW_MS = EVENT_TIME_MS + 1_000;

const validatesSchema = new Ajv2020({ strict: false }).compile(alarmEventJsonSchema());

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

it('the JSON Schema of alarm events accepts those without errors, and no others', () => {
  const counts = { valid: 0, invalid: 0 };
  fc.assert(
    fc.property(event, (value) => {
      const text = JSON.stringify(value).replaceAll(`"${LONG}"`, '12345678901234567890');
      const [checked] = checkEvents([{ file: '-', text }], NOW_MS);
      const isValid = checked?.errors.length === 0;
      expect(validatesSchema(JSON.parse(text))).toBe(isValid);
      counts[isValid ? 'valid' : 'invalid']++;
    }),
    { numRuns: runs(1_000) },
  );
  for (const [kind, count] of Object.entries(counts)) expect(count, kind).toBeGreaterThan(20);
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
