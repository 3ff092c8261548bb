import { type Command, InvalidArgumentError } from 'commander';
import type { DeliveryTotal } from '../../shared/domain/delivery-metrics.ts';
import { examples } from './arguments.ts';
import { type DailyStatistics, dailyStatistics, reportedSeconds } from './cloudwatch.ts';
import { type Column, formatTable } from './print.ts';
import { connect, type Session } from './session.ts';

/** CloudWatch keeps metrics for 455 days. */
const MONTHS = 15;

/** How planned deliveries end that are not to be delivered. */
const NOT_DUE = ['superseded', 'summarized', 'cancelled'] as const;
const ENDS = ['delivered', 'failed', ...NOT_DUE, 'repeated'] as const;

export const addReportCommand = (program: Command): void => {
  program
    .command('report')
    .description('show which share of the deliveries of a month arrived within 10, 60 and 300 seconds')
    .option('--month <YYYY-MM>', `one of the last ${MONTHS} months (UTC); by default the current one`, parseMonth)
    .addHelpText('after', examples('report --month 2026-10 --json'))
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
type DayReport = Shares & {
  date: string;
  p50_ms: number | null;
  p99_ms: number | null;
  /** Of the time to the first attempt. */
  first_attempt_p50_ms: number | null;
  first_attempt_p99_ms: number | null;
};

const countOf = (days: readonly DailyStatistics[], name: DeliveryTotal): number =>
  days.reduce((sum, day) => sum + (day[name] ?? 0), 0);

/** The number of deliveries within a bound: CloudWatch returns their percentage of all delivered ones. */
const countWithin = (days: readonly DailyStatistics[], seconds: number): number =>
  days.reduce((sum, day) => sum + ((day.SampleCount ?? 0) * (day[`PR(:${seconds * 1000})`] ?? 0)) / 100, 0);

/**
 * Returns the counts of several days, and the share of the deliveries planned on these days, less superseded, cancelled
 * and summarized ones. A delivery that dispatch queued again for a repeated event is planned once. The deliveries of a day
 * that arrive on the next can make its share larger than 1: then it is 1.
 */
export const summarize = (days: readonly DailyStatistics[]): Shares => {
  const repeated = countOf(days, 'deliveries_repeated');
  const counts = {
    // Repeats of deliveries of the day before can be more than the planned ones.
    deliveries_planned: Math.max(0, countOf(days, 'deliveries_planned') - repeated),
    deliveries_delivered: countOf(days, 'deliveries_delivered'),
    deliveries_failed: countOf(days, 'deliveries_failed'),
    deliveries_superseded: countOf(days, 'deliveries_superseded'),
    deliveries_summarized: countOf(days, 'deliveries_summarized'),
    deliveries_cancelled: countOf(days, 'deliveries_cancelled'),
    deliveries_repeated: repeated,
  };
  const notDue = NOT_DUE.reduce((sum, end) => sum + counts[`deliveries_${end}`], 0);
  const due = counts.deliveries_planned - notDue;
  return {
    ...counts,
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
      first_attempt_p50_ms: day.first_attempt_p50 ?? null,
      first_attempt_p99_ms: day.first_attempt_p99 ?? null,
    }),
  );
  const total = summarize(days.map(([, day]) => day));
  const noPercentiles = { p50_ms: null, p99_ms: null, first_attempt_p50_ms: null, first_attempt_p99_ms: null };
  const rows = [...reports, { date: 'month', ...total, ...noPercentiles }];
  const text = reports.length === 0 ? `CloudWatch has no deliveries of ${month}.` : formatTable(rows, reportColumns);
  session.print({ month, is_complete: month < monthOf(Date.now()), total, days: reports }, text);
};

/** Rounds down, so that 100 % means all. Floating-point numbers can be below the exact value. */
const percent = (share: number | null | undefined): string =>
  typeof share === 'number' ? `${(Math.floor(share * 10_000 + 1e-6) / 100).toFixed(2)} %` : '–';

const milliseconds = (value: number | null): string => (value === null ? '–' : String(Math.round(value)));

export const reportColumns: readonly Column<DayReport>[] = [
  ['day', ({ date }) => date],
  ['planned', ({ deliveries_planned: planned }) => planned],
  ...reportedSeconds.map(
    (seconds, index): Column<DayReport> => [`${seconds} s`, ({ shares }) => percent(shares[index]?.share), 'right'],
  ),
  ['p50, ms', ({ p50_ms: p50 }) => milliseconds(p50), 'right'],
  ['p99, ms', ({ p99_ms: p99 }) => milliseconds(p99), 'right'],
  ['first p50, ms', ({ first_attempt_p50_ms: p50 }) => milliseconds(p50), 'right'],
  ['first p99, ms', ({ first_attempt_p99_ms: p99 }) => milliseconds(p99), 'right'],
  ...ENDS.map((end): Column<DayReport> => [end, (day) => day[`deliveries_${end}`]]),
];
