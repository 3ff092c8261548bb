import { expect, it } from 'vitest';
import { pauseReasonOf } from '../../shared/domain/email-reputation.ts';

it.each([
  ['five bounces are more than 5 percent', { bounces: 5, emails: 99 }, 'bounces'],
  ['five bounces are exactly 5 percent', { bounces: 5, emails: 100 }, undefined],
  ['only four emails bounced', { bounces: 4, emails: 4 }, undefined],
  ['no email was counted', { bounces: 5, emails: 0 }, 'bounces'],
  ['three complaints are more than 0.1 percent', { complaints: 3, emails: 2_999 }, 'complaints'],
  ['three complaints are exactly 0.1 percent', { complaints: 3, emails: 3_000 }, undefined],
  ['only two emails were reported as spam', { complaints: 2, emails: 2 }, undefined],
] as const)('decides about a pause of emails if %s', (_, counts, reason) => {
  expect(pauseReasonOf({ bounces: 0, complaints: 0, ...counts })).toBe(reason);
});
