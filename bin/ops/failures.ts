import type { Command } from 'commander';
import { createFailureReader } from '../../shared/adapters/deliveries/notification-failures.ts';
import { createFailureList, type ListedFailures } from '../../shared/api/failure-list.ts';
import { examples, parseNumber, parseTenant } from './arguments.ts';
import { isoTime, sanitize, toSecond } from './print.ts';
import { connect } from './session.ts';
import { type Column, NOTIFICATION_ID } from './table.ts';

/** Adds `failures`: the notifications of a tenant with failed or failing deliveries. */
export const addFailuresCommand = (program: Command): void => {
  program
    .command('failures')
    .description('show the notifications of a tenant of which an attempt failed in the last 14 days')
    .argument('<tenant>', 'the tenant', parseTenant)
    .option('--limit <number>', 'maximum number of notifications', parseNumber(10_000), 100)
    .addHelpText('after', examples('failures acme', 'failures acme --limit 1000 --json'))
    .action(show);
};

const show = async (tenant: string, { limit }: { limit: number }, command: Command): Promise<void> => {
  const { documents, deployment, notifications, table, print } = await connect(command);
  const list = createFailureList(createFailureReader(documents, deployment.outputs.DeliveriesTable), notifications);
  const found: FailureRow[] = [];
  let marker: string | null = null;
  do {
    const { values, next } = await list(tenant, { limit: limit - found.length, marker });
    found.push(...values.map(failureJson));
    marker = next;
  } while (marker !== null && found.length < limit);
  print(found, found.length > 0 ? table(found, failureColumns) : 'There are no failures.');
};

/** Returns the failures of a notification as `--json` shows them. */
const failureJson = (failures: ListedFailures) => ({
  notification: failures.notification_id,
  type: failures.type,
  failed: failures.failed,
  first_failed: isoTime(failures.first_failed_at),
  last_failed: isoTime(failures.last_failed_at),
  reason: failures.last_reason,
  last_delivered: failures.last_delivered_at === undefined ? null : isoTime(failures.last_delivered_at),
});

type FailureRow = ReturnType<typeof failureJson>;

/** The columns of the table of failures. */
export const failureColumns: readonly Column<FailureRow>[] = [
  ['notification', ({ notification }) => sanitize(notification), NOTIFICATION_ID],
  ['type', ({ type }) => type, { omit: 2 }],
  ['failed', ({ failed }) => failed],
  ['first failed', ({ first_failed }) => toSecond(first_failed), { omit: 1 }],
  ['last failed', ({ last_failed }) => toSecond(last_failed), { omit: 4 }],
  ['reason', ({ reason }) => reason ?? '–', { cut: 'end', minWidth: 9, omit: 3 }],
  ['last delivered', ({ last_delivered }) => (last_delivered === null ? '–' : toSecond(last_delivered)), { omit: 5 }],
];
