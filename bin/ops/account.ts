import { setTimeout as sleep } from 'node:timers/promises';
import { Argument, type Command, InvalidArgumentError } from 'commander';
import type { AccountDescription } from '../../shared/adapters/accounts/account-administration.ts';
import { UnconfirmedChangeError } from '../../shared/adapters/dynamodb/errors.ts';
import { recountNotifications } from '../../shared/adapters/notifications/notification-counter.ts';
import { MAX_AUDIT_TEXT_LENGTH } from '../../shared/contracts/audit.ts';
import {
  effectiveLimits,
  isLimitName,
  type LimitName,
  limitNames,
  minimumLimit,
} from '../../shared/contracts/tenant-limits.ts';
import { addWhy, examples, parseDuration, parseTenant, parseText, parseTime } from './arguments.ts';
import { OperationError, UsageError } from './errors.ts';
import { colorize, formatTable, sanitize, toSecond } from './print.ts';
import { connect, connectForChange } from './session.ts';
import { changedShadow, type ShadowState, shadowRecord, shadowStates, shadowText } from './shadow.ts';
import { assertKnown } from './targets.ts';
import { addRotateCommand } from './tenant/rotation.ts';

const NEW = ['--new', 'accept a tenant of which nothing is stored', false] as const;

export const addAccountCommands = (program: Command): void => {
  const account = program
    .command('account')
    .description('show the account of a tenant, change its limits, shadow mode or secrets, or count its notifications');
  account
    .command('show')
    .description(
      'show the technical contacts, fallback notifications, shadow mode, whether email is off, and whether webhook credentials exist',
    )
    .argument('<tenant>', 'the tenant', parseTenant)
    .option('--secrets', 'also show the webhook token and the signing secrets', false)
    .addHelpText('after', examples('account show acme --secrets --stack MonitoringNotifications'))
    .action(show);
  addWhy(account.command('limits'))
    .description('show the limits of a tenant, or override settings of the deployment for this tenant')
    .argument('<tenant>', 'the tenant', parseTenant)
    .argument('[changes...]', `name=value of limits to change; name=default restores the setting`, parseLimit)
    .option(...NEW)
    .addHelpText(
      'after',
      `\nThe limits are ${limitNames.join(', ')}. A change takes effect within a minute.\n${examples(
        'account limits acme notificationsPerTenant=5000 smsPerTenantPerDay=default --stack MonitoringNotifications',
      )}`,
    )
    .action(limits);
  addWhy(account.command('shadow'))
    .description('record the alerts of a tenant without sending them, for example during a migration')
    .argument('<tenant>', 'the tenant', parseTenant)
    .addArgument(new Argument('<state>', 'whether alerts are withheld').choices(shadowStates))
    .option('--at <time>', 'when it takes effect, such as 2026-12-01T10:00Z (default: now)', parseTime)
    .option('--for <duration>', 'how long it stays on, such as 2h; required for `on`, at most 30d', parseDuration)
    .option('--yes', 'confirm `on`', false)
    .option(...NEW)
    .addHelpText(
      'after',
      `
Withheld alerts have the status cancelled and the reason shadow, and cannot be redelivered. Tests are sent, and so are
messages to the operators' topic. Repeat \`on\` to extend it.

What counts is when SQS accepts an event. So another system can take over exactly at the time of --at, with neither
missing nor double alerts, and retries of earlier alerts continue. Without --at, \`off\` takes effect before the command
returns; after \`on\`, senders that sent alerts of the tenant within the last minute may send for another minute.
${examples(
  'account shadow acme on --for 2h --yes --why "migration" --stack MonitoringNotifications',
  'account shadow acme off --at 2026-12-01T10:00Z --stack MonitoringNotifications',
)}`,
    )
    .action(changeShadow);
  account
    .command('email')
    .description('turn everything by email of a tenant off or on: alerts, notices and tests')
    .addArgument(new Argument('<state>', 'whether emails are sent').choices(['on', 'off']))
    .argument('<tenant>', 'the tenant', parseTenant)
    .requiredOption('--why <text>', 'the reason, which the audit keeps', parseText(1, MAX_AUDIT_TEXT_LENGTH))
    .addHelpText(
      'after',
      `
Senders follow within a minute. While it is off, alerts by email fail with the reason email_off and are escalated.
They are not sent again: the tenant redelivers them.
${examples('account email off acme --why "sends spam, ticket 71" --stack MonitoringNotifications')}`,
    )
    .action(changeEmail);
  addRotateCommand(account);
  addWhy(account.command('recount'))
    .description('count the notifications again, after the table was restored')
    .argument('<tenant>', 'the tenant', parseTenant)
    .addHelpText('after', examples('account recount acme --stack MonitoringNotifications'))
    .action(recount);
};

const changeEmail = async (state: 'on' | 'off', tenant: string, _: object, command: Command): Promise<void> => {
  const session = await connectForChange(command);
  await assertKnown(session, tenant);
  const { accounts, audit, print } = session;
  const entry = await audit(tenant);
  const isChanged = await accounts
    .setEmailOff(tenant, state === 'off', entry)
    .catch(explainUnconfirmed('show', tenant));
  print(
    { tenant_id: tenant, email: state, changed: isChanged },
    isChanged ? `Its emails are ${state} within a minute.` : `Its emails are ${state}: nothing was changed.`,
  );
};

const recount = async (tenant: string, _: object, command: Command): Promise<void> => {
  const session = await connectForChange(command);
  await assertKnown(session, tenant);
  const { documents, deployment, audit, print } = session;
  const { NotificationsTable } = deployment.outputs;
  const { before, after } = await recountNotifications(documents, NotificationsTable, tenant, await audit(tenant));
  print(
    { tenant_id: tenant, before, after },
    before === after ? `${after}, as counted` : `${after} instead of ${before}`,
  );
};

type LimitChange = readonly [name: LimitName, value: number | undefined];

/** Parses the change of a limit and appends it to the previous ones. @throws InvalidArgumentError */
const parseLimit = (text: string, previous: readonly LimitChange[] = []): readonly LimitChange[] => {
  const [, name = '', value = ''] = /^([^=]*)=(.*)$/.exec(text) ?? [];
  if (!isLimitName(name)) {
    throw new InvalidArgumentError(
      `A change is name=value or name=default, and the names are ${limitNames.join(', ')}.`,
    );
  }
  if (value === 'default') return [...previous, [name, undefined]];
  const minimum = minimumLimit(name);
  const number = /^\d+$/.test(value) ? Number(value) : Number.NaN;
  if (Number.isSafeInteger(number) && number >= minimum) return [...previous, [name, number]];
  throw new InvalidArgumentError(
    `${name} must be a whole number from ${minimum} to ${Number.MAX_SAFE_INTEGER}, or default.`,
  );
};

const limits = async (
  tenant: string,
  changes: readonly LimitChange[],
  { new: isNew }: { new: boolean },
  command: Command,
): Promise<void> => {
  const session = await (changes.length > 0 ? connectForChange : connect)(command);
  await assertKnown(session, tenant, isNew);
  const { accounts, deployment, audit, print } = session;
  if (changes.length > 0) {
    const entry = await audit(tenant);
    await accounts.changeLimits(tenant, Object.fromEntries(changes), entry).catch(explainUnconfirmed('limits', tenant));
  }
  const { limits: overrides } = await accounts.describe(tenant);
  const settings = deployment.outputs.TenantLimits;
  const effective = effectiveLimits(settings, overrides);
  print(
    { tenant_id: tenant, limits: effective, limit_overrides: overrides },
    formatTable(limitNames, [
      ['limit', (name) => name],
      ['value', (name) => effective[name]],
      ['setting', (name) => settings[name]],
      ['', (name) => (name in overrides ? 'overridden' : '')],
    ]),
    changes.length > 0 ? 'The service uses the limits within a minute.' : '',
  );
};

type ShadowOptions = { at?: number; for?: number; yes: boolean; new: boolean };

const changeShadow = async (
  tenant: string,
  state: ShadowState,
  { at: atMs, for: forMs, yes, new: isNew }: ShadowOptions,
  command: Command,
): Promise<void> => {
  if (state === 'on' && !yes) {
    throw new UsageError(`This would record the alerts of tenant ${tenant} without sending them: confirm with --yes.`);
  }
  const session = await connectForChange(command);
  await assertKnown(session, tenant, isNew);
  const { accounts, audit, print } = session;
  const recorded = await audit(tenant);
  const { shadow: current } = await accounts.describe(tenant);
  const shadow = changedShadow(state, current, { atMs, forMs }, Date.now());
  await accounts.setShadow(tenant, shadow, recorded).catch(explainUnconfirmed('show', tenant));
  const endsInMs = (shadow?.until_ms ?? 0) - Date.now();
  if (state === 'off' && atMs === undefined && endsInMs > 0) await sleep(endsInMs);
  print({ tenant_id: tenant, shadow: shadowRecord(shadow) }, shadowText(shadow, Date.now()));
};

const show = async (tenant: string, { secrets }: { secrets: boolean }, command: Command): Promise<void> => {
  const session = await (secrets ? connectForChange(command) : connect(command));
  await assertKnown(session, tenant);
  const { accounts, print } = session;
  const account = await accounts.describe(tenant);
  print(accountRecord(tenant, account, secrets), accountText(account, secrets));
};

/** Converts the error of a change that may have been applied to one that names the next step. */
const explainUnconfirmed =
  (command: 'limits' | 'show', tenant: string) =>
  (error: unknown): never => {
    if (!(error instanceof UnconfirmedChangeError)) throw error;
    throw new OperationError(
      `${error.message} See it with "account ${command} ${tenant}" before you repeat the command.`,
    );
  };

/** Returns a stored account with the field names of the API, and the limits that operators have overridden. */
export const accountRecord = (tenant: string, account: AccountDescription, withSecrets: boolean) => {
  const { fallbackNotifications, summaries, limits, shadow, emailOffSinceMs } = account;
  return {
    id: tenant,
    technical_contacts: account.contacts,
    ...(fallbackNotifications.length > 0 && { escalation_notifications: fallbackNotifications }),
    ...(summaries && { summaries }),
    time_zone: account.timeZone,
    ...(Object.keys(limits).length > 0 && { limit_overrides: limits }),
    ...(shadow && { shadow: shadowRecord(shadow) }),
    ...(emailOffSinceMs !== undefined && { email_off: { since: emailOffSinceMs } }),
    ...(withSecrets && {
      webhook_token: account.token,
      webhook_signing_secrets: [...account.secrets, ...account.retired.map(({ secret }) => secret)],
    }),
  };
};

const accountText = (account: AccountDescription, withSecrets: boolean): string => {
  const { contacts, fallbackNotifications, summaries, token, secrets, retired, shadow, emailOffSinceMs } = account;
  const unset = colorize('dim', 'none yet, created on first use');
  const hidden = (value: string) => (withSecrets ? value : 'set');
  const lines: readonly (readonly [name: string, text: string | false | undefined])[] = [
    ['contacts', contacts.map(sanitize).join(', ') || colorize('yellow', 'none')],
    ['fallback', fallbackNotifications.map(sanitize).join(', ')],
    [
      'summaries',
      summaries &&
        `after ${summaries.email_after} emails or ${summaries.sms_after} SMS in ${summaries.window_minutes} min`,
    ],
    ['time zone', sanitize(account.timeZone)],
    ['webhook token', token === undefined ? unset : hidden(token)],
    ['signing secret', secrets.map(hidden).join(', ') || unset],
    ...retired.map(
      ({ secret, untilMs }) => ['previous secret', `${hidden(secret)}, signs until ${toSecond(untilMs)}`] as const,
    ),
    ['shadow mode', shadow && colorize('yellow', shadowText(shadow, Date.now()))],
    ['email', emailOffSinceMs !== undefined && colorize('red', `off since ${toSecond(emailOffSinceMs)}`)],
  ];
  return lines.flatMap(([name, text]) => (text ? [`${name.padEnd(17)}${text}`] : [])).join('\n');
};
