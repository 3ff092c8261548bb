import type { Command } from 'commander';
import { createOptOutKeys } from '../../shared/adapters/accounts/opt-out-keys.ts';
import { createOptOuts } from '../../shared/adapters/accounts/opt-outs.ts';
import { SHORT_HASH_LENGTH, shortOptOutHash } from '../../shared/domain/opt-out.ts';
import { addWhy, examples, parseTenant } from './arguments.ts';
import { OperationError } from './errors.ts';
import { toSecond } from './print.ts';
import { connect, connectForChange } from './session.ts';
import { formatTable } from './table.ts';
import { createPace, DEFAULT_UNITS_PER_SECOND, realTime } from './tenant/pace.ts';
import { itemsOf } from './tenant/stored-items.ts';

/** Adds `opt-outs`: the recipients who stopped the emails of a tenant, and the key of their links. */
export const addOptOutsCommands = (program: Command): void => {
  const optOuts = program
    .command('opt-outs')
    .description('list or undo opt-outs of the emails of a tenant, or rotate the key of their links');
  optOuts
    .command('list')
    .description('list the recipients who opted out, by hash; it scans the table of accounts')
    .argument('<tenant>', 'the tenant', parseTenant)
    .addHelpText('after', examples('opt-outs list acme --stack MonitoringNotifications'))
    .action(list);
  addWhy(
    optOuts
      .command('undo')
      .description('let a tenant send emails to an address again, if its recipient asks for that')
      .argument('<tenant>', 'the tenant', parseTenant)
      .argument('<address>', 'the email address')
      .addHelpText('after', examples('opt-outs undo acme oncall@example.com --why "Asked by phone, ticket 71"')),
  ).action(undo);
  addWhy(
    optOuts
      .command('rotate-key')
      .description('replace the key of the links; those of the replaced key are valid until the next rotation')
      .addHelpText('after', examples('opt-outs rotate-key --stack MonitoringNotifications')),
  ).action(rotateKey);
};

type Listed = { recipient: string; opted_out_at: number };

const list = async (tenant: string, _: object, command: Command): Promise<void> => {
  const session = await connect(command);
  const pace = createPace(DEFAULT_UNITS_PER_SECOND, realTime);
  const found: Listed[] = [];
  for await (const items of itemsOf(session, tenant, { tables: ['accounts'], pace }))
    for (const { kind, item } of items) {
      const [, hash = ''] = String(item.pk).split('#');
      if (kind === 'opt_outs')
        found.push({ recipient: hash.slice(0, SHORT_HASH_LENGTH), opted_out_at: Number(item.opted_out_at_ms) });
    }
  const rows = found.toSorted((one, other) => one.opted_out_at - other.opted_out_at);
  const table = formatTable(rows, [
    ['recipient', ({ recipient }) => recipient],
    ['opted out', ({ opted_out_at }) => toSecond(opted_out_at)],
  ]);
  session.print(rows, rows.length > 0 ? table : 'There are no opt-outs.');
};

const undo = async (tenant: string, address: string, _: object, command: Command): Promise<void> => {
  const { documents, deployment, audit, print } = await connectForChange(command);
  const recipient = { tenant, address };
  const hash = shortOptOutHash(recipient);
  const isRemoved = await createOptOuts(documents, deployment.outputs.AccountsTable).undo(
    recipient,
    await audit(tenant),
  );
  if (!isRemoved)
    throw new OperationError(
      'The address has not opted out of the emails of the tenant: check both, and `opt-outs list`.',
    );
  print({ tenant_id: tenant, recipient: hash }, `The opt-out of ${hash} is removed.`);
};

const rotateKey = async (_: object, command: Command): Promise<void> => {
  const { documents, deployment, audit, print } = await connectForChange(command);
  await createOptOutKeys(documents, deployment.outputs.AccountsTable).rotate(await audit());
  print({ rotated: true }, 'Emails have links with a new key within a minute.');
};
