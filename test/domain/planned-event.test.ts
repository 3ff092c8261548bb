import { describe, expect, it } from 'vitest';
import { continuationBody, type PlannedEvent, planEvent } from '../../shared/domain/planned-event.ts';
import { alarmEvent, EVENT_TIME_MS } from '../support/events.ts';

const SENT_AT_MS = EVENT_TIME_MS + 1_000;
const ids = Array.from({ length: 26 }, (_, index) => `nt${index}`);
const body = (changes = {}) => JSON.stringify(alarmEvent({ notification_plan: { critical_state: ids }, ...changes }));
const planned = (text: string): PlannedEvent => {
  const plan = planEvent(text, SENT_AT_MS);
  if (typeof plan === 'string') throw new Error(plan);
  return plan;
};

describe('a planned event', () => {
  it('has its notifications, its time and when SQS accepted it', () => {
    expect(planned(body())).toMatchObject({
      ids,
      isContinuation: false,
      eventTimeMs: EVENT_TIME_MS,
      sentAtMs: SENT_AT_MS,
    });
  });

  it.each([
    ['not JSON', '{'],
    ['not an event', '{"event_id":"e"}'],
    ['an event with a malformed plan', body({ notification_plan: { critical_state: 'ntA' } })],
    ['nested too deep to serialize', `{"event_id":"e","x":${'['.repeat(20_000)}${']'.repeat(20_000)}}`],
  ])('is malformed if the message is %s', (_, text) => {
    expect(planEvent(text, SENT_AT_MS)).toBe('malformed');
  });

  it('is too large above 900 KiB', () => {
    const pad = 900 * 1024 - Buffer.byteLength(body({ check: '' }));
    expect(planEvent(body({ check: 'x'.repeat(pad) }), SENT_AT_MS)).toBeTypeOf('object');
    expect(planEvent(body({ check: 'x'.repeat(pad + 1) }), SENT_AT_MS)).toBe('too_large');
  });

  it('keeps its content, its time and its send time in a continuation, up to the maximum size', () => {
    const pad = 900 * 1024 - Buffer.byteLength(body({ check: '' }));
    const first = planned(body({ check: 'x'.repeat(pad) }));
    const continued = planEvent(continuationBody(first, ids.slice(1), ids), SENT_AT_MS + 60_000);
    expect(continued).toMatchObject({
      ids: ids.slice(1),
      known: ids,
      isContinuation: true,
      eventTimeMs: first.eventTimeMs,
      sentAtMs: SENT_AT_MS,
      shared: { tail: first.shared.tail },
    });
  });

  it('has a digest that does not depend on the plan, even if the plan makes the parser preserve numbers as text', () => {
    const text = (id: string) =>
      body({ notification_plan: { critical_state: [id] } }).replace('"data":153', '"data":95.0');
    const digest = (id: string) => /"content_hash":"([^"]*)"/.exec(planned(text(id)).shared.tail)?.[1];
    expect(digest('nt1e5aaaaa')).toBe(digest('ntbbbbbbbb'));
  });
});
