import { describe, expect, it } from 'vitest';
import { duplicateCause } from './duplicates.ts';

const failure = { timestamp_ms: 1_000, duration_ms: 200, result: 'transient' };
const timeout = { timestamp_ms: 1_000, duration_ms: 15_080, result: 'transient' };
const delivered = { timestamp_ms: 50_000, duration_ms: 200, result: 'delivered' };

describe('the cause of a duplicate', () => {
  it('is a timeout if the alert is accepted after the sender stopped waiting, even if a worker was killed', () => {
    expect(duplicateCause(17_500, [timeout, delivered], false)).toBe('timeout');
    expect(duplicateCause(17_500, [timeout, delivered], true)).toBe('timeout');
  });

  it('is a timeout if the alert is accepted while the sender waits and the response is too late', () => {
    expect(duplicateCause(2_000, [timeout, delivered], false)).toBe('timeout');
  });

  it('is a kill if no failed attempt on record covers the time and a worker was killed', () => {
    expect(duplicateCause(1_000, [delivered], true)).toBe('kill');
    expect(duplicateCause(40_000, [timeout, delivered], true)).toBe('kill');
  });

  it('is a kill if the alert is sent again right after a failed attempt and that worker is killed', () => {
    expect(duplicateCause(1_230, [failure, delivered], true)).toBe('kill');
  });

  it('is unexplained if the worker recorded a failure although the destination accepted the alert in time', () => {
    expect(duplicateCause(1_100, [failure, delivered], true)).toBe('unexplained');
  });

  it('is unexplained if the alert is redelivered after its delivery was recorded, even if a worker was killed', () => {
    const redelivered = { ...delivered, timestamp_ms: 90_000 };
    expect(duplicateCause(50_100, [failure, delivered, redelivered], true)).toBe('unexplained');
  });

  it('is unexplained if no worker was killed and no attempt timed out', () => {
    expect(duplicateCause(1_000, [delivered], false)).toBe('unexplained');
    expect(duplicateCause(50_100, [delivered], false)).toBe('unexplained');
  });
});
