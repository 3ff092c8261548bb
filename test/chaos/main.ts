import { Console } from 'node:console';
import { type ChaosResult, type ChaosRow, runChaos } from './chaos.ts';

/** `npm run chaos -- [events] [tenants] [seed]`: prints what became of every delivery, and fails where one is lost or doubled. */
const [events = 2_000, tenants = 20, seed = Date.now() % 1_000_000] = process.argv.slice(2).map(Number);

type Amounts = Omit<ChaosRow, 'type'>;

const amountsOf = ({ type: _type, ...amounts }: ChaosRow): Amounts => amounts;

const added = (one: Amounts, other: Amounts): Amounts => ({
  planned: one.planned + other.planned,
  delivered: one.delivered + other.delivered,
  superseded: one.superseded + other.superseded,
  cancelled: one.cancelled + other.cancelled,
  unrecorded: one.unrecorded + other.unrecorded,
  dead: one.dead + other.dead,
  lost: one.lost + other.lost,
  doubledByKill: one.doubledByKill + other.doubledByKill,
  doubled: one.doubled + other.doubled,
});

const report = ({ rows, ...totals }: ChaosResult): boolean => {
  const all = rows.map(amountsOf).reduce(added);
  const { table, log } = new Console(process.stdout);
  log(`seed ${seed}`);
  table({ ...Object.fromEntries(rows.map((row) => [row.type, amountsOf(row)])), all });
  table(totals);
  return (
    all.lost === 0 && all.doubled === 0 && totals.incidentsLeftOpen === 0 && totals.malformed <= totals.malformedBuried
  );
};

if (!report(await runChaos({ events, tenants, seed }))) process.exitCode = 1;
