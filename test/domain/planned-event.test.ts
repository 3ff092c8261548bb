import { describe, expect, it } from 'vitest';
import { continuationBody, type PlannedEvent, planEvent } from '../../shared/domain/planned-event.ts';
import { alarmEvent, EVENT_TIME_MS } from '../support/events.ts';

const SENT = EVENT_TIME_MS + 1_000;
const ids = Array.from({ length: 26 }, (_, index) => `nt${index}`);
const body = (changes = {}) => JSON.stringify(alarmEvent({ notification_plan: { critical_state: ids }, ...changes }));
const planned = (text: string): PlannedEvent => {
  const plan = planEvent(text, SENT);
  if (typeof plan === 'string') throw new Error(plan);
  return plan;
};

describe('a planned event', () => {
  it('knows its notifications, its time and when SQS accepted it', () => {
    expect(planned(body())).toMatchObject({ ids, isContinuation: false, eventTimeMs: EVENT_TIME_MS, sentAtMs: SENT });
  });

  it.each([
    ['no JSON', '{'],
    ['no event', '{"event_id":"e"}'],
    ['a plan that is none', body({ notification_plan: { critical_state: 'ntA' } })],
    ['nesting that cannot be written', `{"event_id":"e","x":${'['.repeat(20_000)}${']'.repeat(20_000)}}`],
  ])('is malformed where it is %s', (_, text) => {
    expect(planEvent(text, SENT)).toBe('malformed');
  });

  it('is too large above 900 KiB', () => {
    const pad = 900 * 1024 - Buffer.byteLength(body({ check: '' }));
    expect(planEvent(body({ check: 'x'.repeat(pad) }), SENT)).toBeTypeOf('object');
    expect(planEvent(body({ check: 'x'.repeat(pad + 1) }), SENT)).toBe('too_large');
  });

  it('continues with what is left of the largest plan: its time, its content and the moment it was sent stay', () => {
    const pad = 900 * 1024 - Buffer.byteLength(body({ check: '' }));
    const first = planned(body({ check: 'x'.repeat(pad) }));
    const rest = planEvent(continuationBody(first, ids.slice(1), ids), SENT + 60_000);
    expect(rest).toMatchObject({
      ids: ids.slice(1),
      known: ids,
      isContinuation: true,
      eventTimeMs: first.eventTimeMs,
      sentAtMs: SENT,
      shared: { tail: first.shared.tail },
    });
  });

  it('has the same digest whatever its plan is, also where that makes the parser keep the text of numbers', () => {
    const text = (id: string) =>
      body({ notification_plan: { critical_state: [id] } }).replace('"data":153', '"data":95.0');
    const digest = (id: string) => /"content_hash":"([^"]*)"/.exec(planned(text(id)).shared.tail)?.[1];
    expect(digest('nt1e5aaaaa')).toBe(digest('ntbbbbbbbb'));
  });
});
