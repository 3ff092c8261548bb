import { describe, expect, it } from 'vitest';
import { alarmMetricCount, idleBill, idleTotal } from '../../bin/cost/idle-bill.ts';
import { notificationTypeIds } from '../../shared/contracts/notification-types.ts';
import { synthesize } from '../support/stack.ts';

/** The types beyond the eight of the interface: each has two queues with pollers, and an alarm reads its age. */
const MORE_TYPES = notificationTypeIds.length - 8;

const billOf = (settings = {}) => idleBill(synthesize(settings).template.toJSON());

describe('the idle bill', () => {
  it('is at most $12.10 a month by default for eight types, with at most 30 alarm metrics and one rule', () => {
    const bill = billOf();
    expect(idleTotal(bill)).toBeLessThanOrEqual(12.1 + MORE_TYPES * 0.65);
    expect(bill).toMatchObject({ dashboards: 3, keys: 1, insightRules: 0.5 });
    // 17 queues with 5 pollers each and one with 2, which wait 20 s.
    expect(bill.polling).toBeCloseTo(4.51 + MORE_TYPES * 0.518, 2);
    expect(alarmMetricCount(synthesize().template.toJSON())).toBe(30 + MORE_TYPES);
    expect(bill.alarms).toBeCloseTo(3 + MORE_TYPES * 0.1);
  });

  it('is at most $2.50 a month for a development stage, which only polls', () => {
    const bill = billOf({ developmentStage: true });
    expect(idleTotal(bill)).toBeLessThanOrEqual(2.5 + MORE_TYPES * 0.21);
    expect(bill).toEqual({
      // 18 queues with 2 pollers each.
      polling: expect.closeTo(1.866 + MORE_TYPES * 0.207, 2),
      alarms: 0,
      dashboards: 0,
      keys: 0,
      insightRules: 0,
      // Once a day.
      schedules: expect.closeTo(0, 3),
      heartbeats: 0,
      natGateways: 0,
      publicAddresses: 0,
    });
  });

  it('is $73 a month more with static egress: two NAT gateways and two public addresses', () => {
    const bill = billOf({ egress: 'static' });
    expect(bill).toMatchObject({ natGateways: expect.closeTo(65.7), publicAddresses: expect.closeTo(7.3) });
    expect(idleTotal(bill) - idleTotal(billOf())).toBeCloseTo(73);
  });

  it('is $0.10 a month more with delivery outcomes: an alarm, and polls of a stream are free', () => {
    expect(idleTotal(billOf({ deliveryOutcomes: 'true' })) - idleTotal(billOf())).toBeCloseTo(0.1, 2);
  });

  it('fails for a schedule without a price', () => {
    const Schedule = { Type: 'AWS::Scheduler::Schedule', Properties: { ScheduleExpression: 'rate(1 minute)' } };
    expect(() => idleBill({ Resources: { Schedule } })).toThrow('rate(1 minute)');
  });
});
