import { type Command, InvalidArgumentError } from 'commander';
import { type DeliveryTotal, deliveryTotals } from '../../shared/domain/delivery-metrics.ts';
import { examples } from './arguments.ts';
import { type DailyStatistics, dailyStatistics, reportedSeconds } from './cloudwatch.ts';
import { connect, type Session } from './session.ts';
import type { Column } from './table.ts';

/** CloudWatch keeps metrics for 455 days. */
const MONTHS = 15;

/** Adds `report`: which share of the deliveries of a month arrived in time. */
export const addReportCommand = (program: Command): void => {
  program
    .command('report')
    .description('show which share of the deliveries of a month arrived within 10, 60 and 300 seconds')
    .option('--month <YYYY-MM>', `one of the last ${MONTHS} months (UTC); by default the current one`, parseMonth)
    .addHelpText('after', examples('report', 'report --month 2026-10 --json'))
    .action(async ({ month = monthOf(Date.now()) }: { month?: string }, command: Command) =>
      show(await connect(command), month),
    );
};

const monthOf = (timestampMs: number): string => new Date(timestampMs).toISOString().slice(0, 7);

const monthsBefore = (month: string, count: number): number => {
  const start = new Date(`${month}-01`);
  return start.setUTCMonth(start.getUTCMonth() - count);
};

/** Parses a month in UTC. @throws InvalidArgumentError if CloudWatch has no metrics of it */
const parseMonth = (text: string): string => {
  const newest = monthOf(Date.now());
  const oldest = monthOf(monthsBefore(newest, MONTHS - 1));
  if (/^\d{4}-(0[1-9]|1[0-2])$/.test(text) && text >= oldest && text <= newest) return text;
  throw new InvalidArgumentError(`It must be a month from ${oldest} to ${newest}.`);
};

/** Counts of deliveries, and the shares of those to be delivered that arrived in time, 0 to 1; null if there are none. */
type Shares = Record<DeliveryTotal, number> & { shares: { within_seconds: number; share: number | null }[] };

/** A day of a report, in UTC. Percentiles of the latency in ms; null if nothing was delivered. */
type DayReport = Shares & { date: string; p50_ms: number | null; p99_ms: number | null };

const countOf = (days: readonly DailyStatistics[], name: DeliveryTotal): number =>
  days.reduce((sum, day) => sum + (day[name] ?? 0), 0);

/** The number of deliveries within a bound: CloudWatch returns their percentage of all delivered ones. */
const countWithin = (days: readonly DailyStatistics[], seconds: number): number =>
  days.reduce((sum, day) => sum + ((day.SampleCount ?? 0) * (day[`PR(:${seconds * 1000})`] ?? 0)) / 100, 0);

/**
 * Returns the counts of several days, and the share of the deliveries planned on these days, less superseded,
 * cancelled, summarized and repeated ones. The deliveries of a day that arrive on the next can make its share larger than 1: then it is 1.
 */
const summarize = (days: readonly DailyStatistics[]): Shares => {
  const counts = Object.fromEntries(deliveryTotals.map((name) => [name, countOf(days, name)]));
  const of = (name: DeliveryTotal): number => counts[name] ?? 0;
  const due =
    of('deliveries_planned') -
    of('deliveries_superseded') -
    of('deliveries_cancelled') -
    of('deliveries_summarized') -
    of('deliveries_repeated');
  return {
    deliveries_planned: of('deliveries_planned'),
    deliveries_delivered: of('deliveries_delivered'),
    deliveries_failed: of('deliveries_failed'),
    deliveries_superseded: of('deliveries_superseded'),
    deliveries_summarized: of('deliveries_summarized'),
    deliveries_cancelled: of('deliveries_cancelled'),
    deliveries_repeated: of('deliveries_repeated'),
    shares: reportedSeconds.map((seconds) => ({
      within_seconds: seconds,
      share: due > 0 ? Math.min(1, countWithin(days, seconds) / due) : null,
    })),
  };
};

const show = async (session: Session, month: string): Promise<void> => {
  const statistics = await dailyStatistics(session, Date.parse(`${month}-01`), monthsBefore(month, -1));
  const days = [...statistics].toSorted(([first], [second]) => first - second);
  const reports = days.map(
    ([dayMs, day]): DayReport => ({
      date: new Date(dayMs).toISOString().slice(0, 10),
      ...summarize([day]),
      p50_ms: day.p50 ?? null,
      p99_ms: day.p99 ?? null,
    }),
  );
  const total = summarize(days.map(([, day]) => day));
  const rows = [...reports, { date: 'month', ...total, p50_ms: null, p99_ms: null }];
  const text = reports.length === 0 ? `CloudWatch has no deliveries of ${month}.` : session.table(rows, reportColumns);
  session.print({ month, is_complete: month < monthOf(Date.now()), total, days: reports }, text);
};

const RIGHT = { align: 'right' } as const;

/** Rounds down, so that 100 % means all. Floating-point numbers can be below the exact value. */
const percent = (share: number | null | undefined): string =>
  typeof share === 'number' ? `${(Math.floor(share * 10_000 + 1e-6) / 100).toFixed(2)} %` : '–';

const milliseconds = (value: number | null): string => (value === null ? '–' : String(Math.round(value)));

/** The columns of the table of days. */
export const reportColumns: readonly Column<DayReport>[] = [
  ['day', ({ date }) => date],
  ['planned', ({ deliveries_planned: planned }) => planned],
  ...reportedSeconds.map(
    (seconds, index): Column<DayReport> => [`${seconds} s`, ({ shares }) => percent(shares[index]?.share), RIGHT],
  ),
  ['p50, ms', ({ p50_ms: p50 }) => milliseconds(p50), RIGHT],
  ['p99, ms', ({ p99_ms: p99 }) => milliseconds(p99), RIGHT],
  ['delivered', ({ deliveries_delivered: delivered }) => delivered],
  ['failed', ({ deliveries_failed: failed }) => failed, { omit: 5 }],
  ['superseded', ({ deliveries_superseded: superseded }) => superseded, { omit: 3 }],
  ['summarized', ({ deliveries_summarized: summarized }) => summarized, { omit: 3 }],
  ['cancelled', ({ deliveries_cancelled: cancelled }) => cancelled, { omit: 2 }],
  ['repeated', ({ deliveries_repeated: repeated }) => repeated, { omit: 1 }],
];
