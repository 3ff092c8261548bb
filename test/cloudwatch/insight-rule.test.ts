import { describe, expect, it } from 'vitest';
import { InsightRule } from './insight-rule.ts';

const body = {
  Schema: { Name: 'CloudWatchLogRule', Version: 1 },
  LogGroupNames: ['group'],
  LogFormat: 'JSON',
  Contribution: {
    Keys: ['$.tenant_id'],
    Filters: [
      { Match: '$.message', In: ['delivery failed'] },
      { Match: '$.reason', NotIn: ['expired'] },
    ],
  },
  AggregateOn: 'Count',
};

const failed = (tenant_id: string, rest = {}) => ({
  message: 'delivery failed',
  reason: 'http_status',
  tenant_id,
  ...rest,
});

describe('a Contributor Insights rule', () => {
  it('counts contributors and the lines of the largest contributor in a period', () => {
    const rule = new InsightRule('rule', JSON.stringify(body));
    for (const [tenant, timestampMs] of [
      ['a', 1],
      ['a', 2],
      ['b', 3],
      ['a', 10],
    ] as const) {
      rule.add('group', failed(tenant), timestampMs);
    }
    expect(rule.metric('UniqueContributors', 0, 10)).toBe(2);
    expect(rule.metric('MaxContributorValue', 0, 10)).toBe(2);
    expect(rule.metric('Sum', 0, 10)).toBe(3);
    expect(rule.metric('UniqueContributors', 10, 20)).toBe(1);
    expect(rule.metric('UniqueContributors', 20, 30)).toBeUndefined();
  });

  it('ignores lines of other log groups, without a key, or excluded by a filter', () => {
    const rule = new InsightRule('rule', JSON.stringify(body));
    rule.add('other', failed('a'), 1);
    rule.add('group', failed('a', { tenant_id: undefined }), 1);
    rule.add('group', failed('a', { message: 'batch done' }), 1);
    rule.add('group', failed('a', { reason: 'expired' }), 1);
    expect(rule.metric('UniqueContributors', 0, 10)).toBeUndefined();
  });

  it('is rejected if it uses an unsupported feature', () => {
    const filters = [{ Match: '$.message', StartsWith: ['delivery'] }];
    const other = { ...body, Contribution: { ...body.Contribution, Filters: filters } };
    expect(() => new InsightRule('rule', JSON.stringify(other))).toThrow();
    expect(() => new InsightRule('rule', JSON.stringify(body)).metric('Average', 0, 1)).toThrow('Average');
  });
});
