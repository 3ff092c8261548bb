import type { Command } from 'commander';
import { createEmailStops, storedStop } from '../../shared/adapters/accounts/email-stops.ts';
import { mailboxHash } from '../../shared/domain/email-stop.ts';
import { addWhy, examples, parseTenant } from './arguments.ts';
import { OperationError } from './errors.ts';
import { formatTable, toSecond } from './print.ts';
import { connect, connectForChange } from './session.ts';
import { assertKnown } from './targets.ts';
import { itemsOf } from './tenant/stored-items.ts';

export const addOptOutsCommands = (program: Command): void => {
  const optOuts = program
    .command('opt-outs')
    .description('list stops of the emails of a tenant, or undo those by recipients');
  optOuts
    .command('list')
    .description('list the mailboxes that get no emails, by hash; it scans the table of accounts')
    .argument('<tenant>', 'the tenant', parseTenant)
    .addHelpText('after', examples('opt-outs list acme --stack MonitoringNotifications'))
    .action(list);
  addWhy(
    optOuts
      .command('undo')
      .description('resume emails that a recipient stopped or reported as spam, if it asks for that')
      .argument('<tenant>', 'the tenant', parseTenant)
      .argument('<address>', 'the email address')
      .addHelpText('after', examples('opt-outs undo acme oncall@example.com --why "Asked by phone, ticket 71"')),
  ).action(undo);
};

type Listed = { recipient: string; reason: string; since: number };

const list = async (tenant: string, _: object, command: Command): Promise<void> => {
  const session = await connect(command);
  const found: Listed[] = [];
  for await (const items of itemsOf(session, tenant, { tables: ['accounts'] }))
    for (const { kind, item } of items) {
      const stop = kind === 'email_stops' ? storedStop(item, Date.now()) : undefined;
      const [, hash = ''] = String(item.pk).split('#');
      if (stop) found.push({ recipient: hash, reason: stop.reason, since: stop.sinceMs });
    }
  if (found.length === 0) await assertKnown(session, tenant);
  const rows = found.toSorted((one, other) => one.since - other.since);
  const table = formatTable(rows, [
    ['recipient', ({ recipient }) => recipient],
    ['reason', ({ reason }) => reason],
    ['since', ({ since }) => toSecond(since)],
  ]);
  session.print(rows, rows.length > 0 ? table : 'No emails are stopped.');
};

const undo = async (tenant: string, address: string, _: object, command: Command): Promise<void> => {
  const session = await connectForChange(command);
  await assertKnown(session, tenant);
  const { documents, deployment, audit, print } = session;
  const recipient = { tenant, address };
  const hash = mailboxHash({ tenant, address });
  const isRemoved = await createEmailStops(documents, deployment.outputs.AccountsTable).resumeByOperator(
    recipient,
    await audit(tenant),
  );
  if (!isRemoved)
    throw new OperationError(
      'The recipient neither stopped the emails of the tenant nor reported spam: check both, and `opt-outs list`.',
    );
  print({ tenant_id: tenant, recipient: hash }, `The emails to ${hash} are resumed.`);
};
