import { Console } from 'node:console';
import { type ChaosResult, runChaos } from './chaos.ts';
import type { ChaosRow } from './outcomes.ts';

/**
 * `npm run chaos -- [events] [tenants] [seed]`: prints the outcomes of all deliveries, and fails if one is lost or
 * duplicated.
 */
const [events = 2_000, tenants = 20, seed = Date.now() % 1_000_000] = process.argv.slice(2).map(Number);

type Counts = Omit<ChaosRow, 'type'>;

const countsOf = ({ type: _type, ...counts }: ChaosRow): Counts => counts;

const add = (left: Counts, right: Counts): Counts => ({
  planned: left.planned + right.planned,
  delivered: left.delivered + right.delivered,
  superseded: left.superseded + right.superseded,
  cancelled: left.cancelled + right.cancelled,
  unrecorded: left.unrecorded + right.unrecorded,
  deadLettered: left.deadLettered + right.deadLettered,
  lost: left.lost + right.lost,
  duplicatedByKill: left.duplicatedByKill + right.duplicatedByKill,
  duplicatedByTimeout: left.duplicatedByTimeout + right.duplicatedByTimeout,
  duplicated: left.duplicated + right.duplicated,
});

/** The column headings of BENCHMARKS.md#chaos. */
const labeled = ({ deadLettered, duplicatedByKill, duplicatedByTimeout, duplicated, ...counts }: Counts) => ({
  ...counts,
  'dead-lettered': deadLettered,
  'duplicated by a kill': duplicatedByKill,
  'duplicated by a timeout': duplicatedByTimeout,
  'duplicated otherwise': duplicated,
});

/** Prints the tables of BENCHMARKS.md#chaos. @returns whether the run passed */
const report = ({ rows, ...totals }: ChaosResult): boolean => {
  const all = rows.map(countsOf).reduce(add);
  const { table, log } = new Console(process.stdout);
  log(`seed ${seed}`);
  table({ ...Object.fromEntries(rows.map((row) => [row.type, labeled(countsOf(row))])), all: labeled(all) });
  table(totals);
  return (
    all.lost === 0 &&
    all.duplicated === 0 &&
    totals.incidentsLeftOpen === 0 &&
    totals.invalid <= totals.invalidDeadLettered
  );
};

if (!report(await runChaos({ events, tenants, seed }))) process.exitCode = 1;
