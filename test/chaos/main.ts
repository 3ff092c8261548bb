import { Console } from 'node:console';
import { type ChaosResult, runChaos } from './chaos.ts';
import type { ChaosCounts, ChaosRow } from './outcomes.ts';

/**
 * `npm run chaos -- [events] [tenants] [seed]`: prints the outcomes of all deliveries and notices, and fails if one is
 * lost or, without a kill or timeout, duplicated.
 */
const [events = 2_000, tenants = 20, seed = Date.now() % 1_000_000] = process.argv.slice(2).map(Number);

const countsOf = ({ name: _name, evidence: _evidence, ...counts }: ChaosRow): ChaosCounts => counts;

const add = (left: ChaosCounts, right: ChaosCounts): ChaosCounts => ({
  planned: left.planned + right.planned,
  delivered: left.delivered + right.delivered,
  superseded: left.superseded + right.superseded,
  cancelled: left.cancelled + right.cancelled,
  summarized: left.summarized + right.summarized,
  unrecorded: left.unrecorded + right.unrecorded,
  deadLettered: left.deadLettered + right.deadLettered,
  lost: left.lost + right.lost,
  duplicatedByKill: left.duplicatedByKill + right.duplicatedByKill,
  duplicatedByTimeout: left.duplicatedByTimeout + right.duplicatedByTimeout,
  duplicated: left.duplicated + right.duplicated,
  redelivered: left.redelivered + right.redelivered,
  deliveredAfterRedelivery: left.deliveredAfterRedelivery + right.deliveredAfterRedelivery,
});

/** The column headings of docs/benchmarks.md#chaos. */
const labeled = ({
  deadLettered,
  duplicatedByKill,
  duplicatedByTimeout,
  duplicated,
  redelivered,
  deliveredAfterRedelivery,
  ...counts
}: ChaosCounts) => ({
  ...counts,
  'dead-lettered': deadLettered,
  'duplicated by a kill': duplicatedByKill,
  'duplicated by a timeout': duplicatedByTimeout,
  'duplicated otherwise': duplicated,
  redelivered,
  'of these delivered': deliveredAfterRedelivery,
});

const labeledRows = (rows: readonly ChaosRow[]) =>
  Object.fromEntries(rows.map((row) => [row.name, labeled(countsOf(row))]));

/** Prints the tables of docs/benchmarks.md#chaos. @returns whether the run passed */
const report = ({ rows, notices, ...totals }: ChaosResult): boolean => {
  const all = rows.map(countsOf).reduce(add);
  const { table, log } = new Console(process.stdout);
  log(`seed ${seed}`);
  table({ ...labeledRows(rows), all: labeled(all), ...labeledRows(notices) });
  table(totals);
  for (const line of [...rows, ...notices].flatMap(({ evidence }) => evidence)) log(line);
  return (
    [...rows, ...notices].every(({ lost, duplicated }) => lost === 0 && duplicated === 0) &&
    totals.lostBeforeRecovery === 0 &&
    totals.missingNotices === 0 &&
    totals.missingSummaries === 0 &&
    totals.incidentsLeftOpen === 0 &&
    totals.invalid <= totals.invalidDeadLettered
  );
};

if (!report(await runChaos({ events, tenants, seed }))) process.exitCode = 1;
