import type { Command } from 'commander';
import type { DeliveryTarget } from '../../shared/domain/notification.ts';
import { examples, parseTenant, parseText } from './arguments.ts';
import { OperationError } from './errors.ts';
import { assertKnown } from './known-tenant.ts';
import { sanitize, toSecond } from './print.ts';
import { connect } from './session.ts';
import { type Column, formatTable } from './table.ts';
import { labelCell, targetsOf } from './targets.ts';

/** Adds `notifications`: those of a tenant, without destinations and secrets. */
export const addNotificationsCommand = (program: Command): void => {
  program
    .command('notifications')
    .description('show the notifications of a tenant, or one of them, without their destinations and secrets')
    .argument('<tenant>', 'the tenant', parseTenant)
    .argument('[id]', 'the ID of a notification', parseText(1, 64))
    .addHelpText(
      'after',
      examples('notifications acme', 'notifications acme nt01M7W08F9Z4XGJJRVYEZQFE9R1 --stack MonitoringNotifications'),
    )
    .action(show);
};

const show = async (tenant: string, id: string | undefined, _: object, command: Command): Promise<void> => {
  const session = await connect(command);
  await assertKnown(session, tenant);
  if (id === undefined) {
    const found = (await Array.fromAsync(targetsOf(session, tenant))).map(notificationJson);
    return session.print(found, formatTable(found, columns));
  }
  const target = await session.notifications.targets([{ tenant, id }]).find({ tenant, id });
  if (!target) throw new OperationError(`Tenant ${tenant} has no notification ${id}: see "notifications ${tenant}".`);
  const details = Object.fromEntries(Object.keys(target.details).map((name) => [name, '***']));
  const found = { ...notificationJson(target), details };
  const lines = [...columns, ['details', () => Object.keys(details).map(sanitize).join(', ') || '–'] as const];
  session.print(found, lines.map(([name, cell]) => `${name.padEnd(12)}${cell(found)}`).join('\n'));
};

/** Returns a notification with the names of the API. `alone_since` is when the account stopped or stops signing. */
const notificationJson = ({ id, label, type, ordered, signingSecrets: own }: DeliveryTarget) => ({
  id,
  label: label ?? null,
  type,
  ordered: ordered === true,
  signing_secret: own?.current === undefined ? null : { alone_since: own.account_until_ms ?? null },
});

const signsText = ({ signing_secret: own }: NotificationJson): string => {
  if (own === null) return '–';
  if (own.alone_since === null) return 'alone';
  return `${own.alone_since > Date.now() ? 'alone from' : 'alone since'} ${toSecond(own.alone_since)}`;
};

type NotificationJson = ReturnType<typeof notificationJson>;

const columns: readonly Column<NotificationJson>[] = [
  ['id', ({ id }) => id],
  ['type', ({ type }) => type],
  ['label', ({ label }) => labelCell(label)],
  ['ordered', ({ ordered }) => (ordered ? 'yes' : 'no')],
  ['own secret', signsText],
];
