import type { Command } from 'commander';
import { type AccountDescription, ConcurrentRotationError } from '../../shared/adapters/accounts/account-repository.ts';
import { UnconfirmedChangeError } from '../../shared/adapters/dynamodb/errors.ts';
import { recountNotifications } from '../../shared/adapters/notifications/notification-counter.ts';
import { examples, parseEmailAddress, parseTenant, parseWebhookToken } from './arguments.ts';
import type { Deployment } from './deployment.ts';
import { OperationError, UsageError } from './errors.ts';
import { colorize, isoTime, sanitize, toSecond } from './print.ts';
import { connect, connectForChange } from './session.ts';

/** Adds `account`: the technical contacts, webhook credentials and number of notifications of a tenant. */
export const addAccountCommands = (program: Command): void => {
  const account = program
    .command('account')
    .description(
      'show or change the technical contacts and webhook credentials of a tenant, or count its notifications',
    );
  account
    .command('show')
    .description('show the technical contacts, and whether webhook credentials exist')
    .argument('<tenant>', 'the tenant', parseTenant)
    .option('--secrets', 'also show the webhook token and the signing secrets', false)
    .addHelpText('after', examples('account show acme', 'account show acme --secrets --stack MonitoringNotifications'))
    .action(show);
  account
    .command('set')
    .description('replace all technical contacts, or the webhook token')
    .argument('<tenant>', 'the tenant', parseTenant)
    .option('--contact <addresses...>', 'the email addresses of all technical contacts', parseEmailAddress)
    .option('--webhook-token <token>', 'the value of the webhook header x-monitoring-webhook-token', parseWebhookToken)
    .addHelpText(
      'after',
      examples('account set acme --contact oncall@acme.example lead@acme.example --stack MonitoringNotifications'),
    )
    .action(set);
  account
    .command('rotate-signing-secret')
    .description(
      'create a new signing secret for webhooks; the previous one also signs for 24 hours, older ones do not',
    )
    .argument('<tenant>', 'the tenant', parseTenant)
    .addHelpText('after', examples('account rotate-signing-secret acme --stack MonitoringNotifications'))
    .action(rotateSigningSecret);
  account
    .command('recount')
    .description('count the notifications again, after the table was restored')
    .argument('<tenant>', 'the tenant', parseTenant)
    .addHelpText('after', examples('account recount acme --stack MonitoringNotifications'))
    .action(recount);
};

const recount = async (tenant: string, _: object, command: Command): Promise<void> => {
  const { documents, deployment, print } = await connectForChange(command);
  const { before, after } = await recountNotifications(documents, deployment.outputs.NotificationsTable, tenant);
  print({ tenant, before, after }, before === after ? `${after}, as counted` : `${after} instead of ${before}`);
};

const show = async (tenant: string, { secrets }: { secrets: boolean }, command: Command): Promise<void> => {
  const { accounts, print } = await (secrets ? connectForChange(command) : connect(command));
  const account = await accounts.describe(tenant);
  print(accountJson(tenant, account, secrets), accountText(account, secrets));
};

type SetOptions = { contact?: string[]; webhookToken?: string };

const set = async (tenant: string, { contact, webhookToken }: SetOptions, command: Command): Promise<void> => {
  if (contact === undefined && webhookToken === undefined) {
    throw new UsageError('Nothing to set: pass --contact or --webhook-token.');
  }
  const { accounts, deployment, print } = await connectForChange(command);
  const changes = {
    ...(contact && { technical_contacts: [...new Set(contact)] }),
    ...(webhookToken !== undefined && { webhook_token: webhookToken }),
  };
  await accounts.update(tenant, changes).catch(explainChangeError(tenant, deployment));
  const account = await accounts.describe(tenant);
  print(
    accountJson(tenant, account, false),
    accountText(account, false),
    webhookToken === undefined ? '' : EFFECTIVE_WITHIN,
  );
};

const rotateSigningSecret = async (tenant: string, _: object, command: Command): Promise<void> => {
  const { accounts, deployment, print } = await connectForChange(command);
  const secret = await accounts.rotateSecret(tenant).catch(explainChangeError(tenant, deployment));
  const { retired } = await accounts.describe(tenant).catch(() => {
    throw new OperationError(
      `The signing secret was replaced, but the account cannot be read. Run \`${showCommand(tenant, deployment)}\` to see the new secret.`,
    );
  });
  const retiredUntil = retired.map(({ untilMs }) => isoTime(untilMs));
  const previous =
    retiredUntil[0] === undefined
      ? 'There was no previous secret.'
      : `The previous secret also signs until ${toSecond(retiredUntil[0])}.`;
  print({ tenant, secret, retired: retiredUntil }, secret, `${previous} ${EFFECTIVE_WITHIN}`);
};

const showCommand = (tenant: string, { options }: Deployment): string =>
  `npm run -s ops -- account show ${tenant} --secrets ${options}`;

/** Converts the error of a concurrent or unconfirmed change to one that names the next step for the operator. */
const explainChangeError =
  (tenant: string, deployment: Deployment) =>
  (error: unknown): never => {
    if (error instanceof ConcurrentRotationError) throw new OperationError(error.message);
    if (!(error instanceof UnconfirmedChangeError)) throw error;
    throw new OperationError(
      `${error.message} Run \`${showCommand(tenant, deployment)}\` before you repeat the command.`,
    );
  };

const EFFECTIVE_WITHIN = 'Senders use it within a minute.';

const accountJson = (tenant: string, account: AccountDescription, withSecrets: boolean) => {
  const { contacts, token, secrets, retired } = account;
  return {
    tenant,
    contacts,
    has_webhook_token: token !== undefined,
    signing_secrets: secrets.length,
    retired_secrets: retired.map(({ secret, untilMs }) => ({
      until: isoTime(untilMs),
      ...(withSecrets && { secret }),
    })),
    ...(withSecrets && { webhook_token: token ?? null, secrets }),
  };
};

const accountText = ({ contacts, token, secrets, retired }: AccountDescription, withSecrets: boolean): string => {
  const unset = colorize('dim', 'none yet, created on first use');
  const hidden = (value: string) => (withSecrets ? value : 'set');
  return [
    `contacts         ${contacts.map(sanitize).join(', ') || colorize('yellow', 'none')}`,
    `webhook token    ${token === undefined ? unset : hidden(token)}`,
    `signing secret   ${secrets.map(hidden).join(', ') || unset}`,
    ...retired.map(
      ({ secret, untilMs }) => `previous secret  ${hidden(secret)}, signs until ${toSecond(isoTime(untilMs))}`,
    ),
  ].join('\n');
};
