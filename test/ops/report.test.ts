import { expect, it } from 'vitest';
import { summarize } from '../../bin/ops/report.ts';

it('ten events that are sent twice are ten planned and ten delivered, and all in time', () => {
  const day = { deliveries_planned: 20, deliveries_repeated: 10, deliveries_delivered: 10 };
  const report = summarize([{ ...day, SampleCount: 10, 'PR(:10000)': 100, 'PR(:60000)': 100, 'PR(:300000)': 100 }]);
  expect(report).toMatchObject({ deliveries_planned: 10, deliveries_delivered: 10, deliveries_repeated: 10 });
  expect(report.shares.map(({ share }) => share)).toEqual([1, 1, 1]);
});

it('a repeat on the day after its delivery plans nothing', () => {
  expect(summarize([{ deliveries_planned: 1, deliveries_repeated: 1 }])).toMatchObject({
    deliveries_planned: 0,
    shares: [{ share: null }, { share: null }, { share: null }],
  });
});
