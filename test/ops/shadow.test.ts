import { describe, expect, it } from 'vitest';
import { changedShadow, shadowText } from '../../bin/ops/shadow.ts';
import { DAY_MS } from '../../shared/domain/time.ts';

const NOW_MS = Date.UTC(2026, 10, 22, 9);
const HOUR_MS = 3_600_000;
const running = { from_ms: NOW_MS - HOUR_MS, until_ms: NOW_MS + 1 };
const planned = { from_ms: NOW_MS + HOUR_MS, until_ms: NOW_MS + 2 * HOUR_MS };

describe('account shadow', () => {
  it.each([
    ['starts now', 'on', undefined, { forMs: HOUR_MS }, { from_ms: NOW_MS, until_ms: NOW_MS + HOUR_MS }],
    ['starts at a given time, for an hour', 'on', undefined, { atMs: NOW_MS + HOUR_MS, forMs: HOUR_MS }, planned],
    ['starts earlier than planned', 'on', planned, { forMs: HOUR_MS }, { from_ms: NOW_MS, until_ms: NOW_MS + HOUR_MS }],
    ['stays on, for an hour from now', 'on', running, { forMs: HOUR_MS }, { ...running, until_ms: NOW_MS + HOUR_MS }],
    ['lasts 30 days', 'on', undefined, { forMs: 30 * DAY_MS }, { from_ms: NOW_MS, until_ms: NOW_MS + 30 * DAY_MS }],
    ['ends in five seconds', 'off', running, {}, { ...running, until_ms: NOW_MS + 5_000 }],
    ['ends at a given time', 'off', running, { atMs: NOW_MS + HOUR_MS }, { ...running, until_ms: NOW_MS + HOUR_MS }],
    ['removes what is only planned', 'off', planned, {}, undefined],
    ['changes nothing if it is off', 'off', undefined, {}, undefined],
  ] as const)('%s', (_, state, current, times, expected) => {
    expect(changedShadow(state, current, times, NOW_MS)).toEqual(expected);
  });

  it.each([undefined, 30 * DAY_MS + 1])('is not turned on without a time of at most 30 days: %s', (forMs) => {
    expect(() => changedShadow('on', undefined, { forMs }, NOW_MS)).toThrow('`on` needs --for, at most 30d');
  });

  it.each([
    [
      'on',
      undefined,
      NOW_MS + 119_999,
      '--at must be at least 120 seconds after now, 2026-11-22T09:00:00.000Z: pass a later time.',
    ],
    [
      'off',
      running,
      NOW_MS + 4_999,
      '--at must be at least 5 seconds after now, 2026-11-22T09:00:00.000Z: pass a later time.',
    ],
    ['on', running, NOW_MS + HOUR_MS, 'The tenant has been in shadow mode since 2026-11-22T08:00:00.000Z: omit --at'],
  ] as const)('rejects a time that is too soon, and a second start: %s', (state, current, atMs, message) => {
    const times = { atMs, ...(state === 'on' && { forMs: HOUR_MS }) };
    expect(() => changedShadow(state, current, times, NOW_MS)).toThrow(message);
  });

  it('has no duration of `off`', () => {
    expect(() => changedShadow('off', running, { forMs: HOUR_MS }, NOW_MS)).toThrow('--for is only for `on`');
  });

  it.each([
    [undefined, 'off: alerts are sent'],
    [
      { ...running, until_ms: NOW_MS },
      'off: alerts of events that SQS accepts from 2026-11-22T09:00:00.000Z on are sent',
    ],
    [
      running,
      'on: alerts of events that SQS accepts from 2026-11-22T08:00:00.000Z until 2026-11-22T09:00:00.001Z are recorded and not sent',
    ],
    [
      planned,
      'planned: alerts of events that SQS accepts from 2026-11-22T10:00:00.000Z until 2026-11-22T11:00:00.000Z are recorded and not sent',
    ],
  ])('says what happens to alerts', (shadow, text) => {
    expect(shadowText(shadow, NOW_MS)).toBe(text);
  });
});
