import { describe, expect, it } from 'vitest';
import { notificationTypeIds } from '../../shared/contracts/notification-types.ts';
import { warningsOf } from '../support/stack.ts';

describe('synthesis', () => {
  const warningIds = (settings: Record<string, unknown>) =>
    warningsOf(settings).map((text) => /\[ack: notifications:(\w+)\]$/.exec(text)?.[1]);

  it('warns if settings are missing without which nothing is delivered or noticed, or anything is paid for', () => {
    expect(warningIds({})).toEqual(['feedEndpoint', 'emailFrom', 'alarmTarget', 'smsCountries']);
  });

  it.each([
    ['alarmTarget', { alarmTarget: 'oncall@example.org' }],
    ['alarmTarget', { developmentStage: true }],
    ['smsCountries', { smsCountries: '+1' }],
    ['smsCountries', { smsPerTenantPerDay: 0 }],
  ])('does not warn about %s with %j', (id, settings) => {
    expect(warningIds(settings)).not.toContain(id);
  });

  it('warns if the event sources can use more concurrent executions than the account has', () => {
    const quotaWarnings = (settings: Record<string, unknown>) =>
      warningsOf(settings).filter((text) => text.includes('lambdaConcurrencyQuota'));
    // 20 and a quarter of it for each type beyond the eight of the interface.
    const used = 521 + 25 * (notificationTypeIds.length - 8);
    expect(quotaWarnings({ lambdaConcurrencyQuota: 10 })).toEqual([
      expect.stringMatching(
        new RegExp(`^The event sources can use ${used} concurrent executions, and lambdaConcurrencyQuota is 10`),
      ),
    ]);
    expect(quotaWarnings({ lambdaConcurrencyQuota: used })).toHaveLength(1);
    expect(quotaWarnings({ lambdaConcurrencyQuota: used + 1 })).toEqual([]);
    expect(quotaWarnings({ senderConcurrencyByType: 'webhook=1000' })).toHaveLength(1);
    // Its event sources have no maximum.
    expect(quotaWarnings({ developmentStage: true, lambdaConcurrencyQuota: 10 })).toEqual([]);
  });

  it('warns if a function has more memory than new accounts allow', () => {
    const memoryWarnings = (settings: Record<string, unknown>) =>
      warningsOf(settings).filter((text) => text.includes('3,008 MB'));
    expect(memoryWarnings({ memoryMb: 3_008, memoryMbByType: 'webhook=3008' })).toEqual([]);
    expect(memoryWarnings({ memoryMb: 3_009 })).toEqual([expect.stringMatching(/^memoryMb is above 3,008 MB/)]);
    expect(memoryWarnings({ memoryMbByType: 'webhook=4096' })).toEqual([
      expect.stringMatching(/^memoryMbByType is above 3,008 MB/),
    ]);
  });
});
