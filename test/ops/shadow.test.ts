import { describe, expect, it } from 'vitest';
import { changedShadow, shadowText } from '../../bin/ops/shadow.ts';

const NOW_MS = Date.UTC(2026, 10, 22, 9);
const HOUR_MS = 3_600_000;
const running = { from_ms: NOW_MS - HOUR_MS };
const planned = { from_ms: NOW_MS + HOUR_MS };

describe('account shadow', () => {
  it.each([
    ['starts now', 'on', undefined, undefined, { from_ms: NOW_MS }],
    ['starts at a given time', 'on', undefined, NOW_MS + HOUR_MS, planned],
    ['starts earlier than planned', 'on', planned, undefined, { from_ms: NOW_MS }],
    ['keeps the start, and removes the end', 'on', { ...running, until_ms: NOW_MS + 1 }, undefined, running],
    ['ends in five seconds', 'off', running, undefined, { ...running, until_ms: NOW_MS + 5_000 }],
    ['ends at a given time', 'off', running, NOW_MS + HOUR_MS, { ...running, until_ms: NOW_MS + HOUR_MS }],
    ['removes what is only planned', 'off', planned, undefined, undefined],
    ['changes nothing if it is off', 'off', undefined, undefined, undefined],
    [
      'starts now, for two hours',
      'on',
      undefined,
      undefined,
      { from_ms: NOW_MS, until_ms: NOW_MS + 2 * HOUR_MS },
      2 * HOUR_MS,
    ],
    [
      'starts at a given time, for an hour from then',
      'on',
      undefined,
      NOW_MS + HOUR_MS,
      { ...planned, until_ms: NOW_MS + 2 * HOUR_MS },
      HOUR_MS,
    ],
    ['stays on, for an hour from now', 'on', running, undefined, { ...running, until_ms: NOW_MS + HOUR_MS }, HOUR_MS],
  ] as const)('%s', (_, state, current, atMs, expected, forMs: number | undefined = undefined) => {
    expect(changedShadow(state, current, { atMs, forMs }, NOW_MS)).toEqual(expected);
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
    expect(() => changedShadow(state, current, { atMs }, NOW_MS)).toThrow(message);
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
    [running, 'on: alerts of events that SQS accepts from 2026-11-22T08:00:00.000Z on are recorded and not sent'],
    [
      { ...planned, until_ms: NOW_MS + 2 * HOUR_MS },
      'planned: alerts of events that SQS accepts from 2026-11-22T10:00:00.000Z until 2026-11-22T11:00:00.000Z are recorded and not sent',
    ],
  ])('says what happens to alerts', (shadow, text) => {
    expect(shadowText(shadow, NOW_MS)).toBe(text);
  });
});
