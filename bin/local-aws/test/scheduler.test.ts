import { describe, expect, it } from 'vitest';
import { type ScheduleSettings, Schedules } from '../scheduler.ts';
import { ManualClock } from './support/manual-clock.ts';

const schedule: ScheduleSettings = {
  name: 'Report',
  isEnabled: true,
  periodMs: 300_000,
  service: 'sqs',
  action: 'SendMessage',
  input: '<aws.scheduler.execution-id> <aws.scheduler.scheduled-time>',
  role: 'Reporter',
};

const setUp = () => {
  const clock = new ManualClock();
  const bodies: string[] = [];
  const callers = new Set<string>();
  const schedules = new Schedules({
    schedules: [schedule, { ...schedule, name: 'Disabled', isEnabled: false }],
    clock,
    call: async ({ body, caller, service, action }) => {
      bodies.push(body.toString());
      callers.add(`${caller} ${service}.${action}`);
    },
  });
  return { clock, schedules, bodies, callers };
};

describe('a schedule', () => {
  it('calls at once and then at its rate, with a new execution ID each time, as a session of its role', () => {
    const { clock, bodies, callers } = setUp();
    clock.advance(0);
    clock.advance(660);
    const [first, second, third, ...others] = bodies;
    expect(others).toEqual([]);
    expect(first).toMatch(/^[0-9a-f]{16} 2026-01-01T00:00:00Z$/);
    expect(second).toMatch(/^[0-9a-f]{16} 2026-01-01T00:05:00Z$/);
    expect(third).toMatch(/^[0-9a-f]{16} 2026-01-01T00:10:00Z$/);
    expect(new Set(bodies.map((body) => body.split(' ')[0])).size).toBe(3);
    expect([...callers]).toEqual(['Reporter:scheduler sqs.SendMessage']);
  });

  it('stops while it is disabled', () => {
    const { clock, schedules, bodies } = setUp();
    clock.advance(299);
    const enable = schedules.disable('Report');
    clock.advance(3_600);
    expect(bodies).toHaveLength(1);
    expect(() => schedules.disable('Report')).toThrow('There is no enabled schedule Report.');
    enable();
    clock.advance(301);
    expect(bodies).toHaveLength(3);
  });
});
