import type { Command } from 'commander';
import {
  type AccountDescription,
  ConcurrentChangeError,
  UnconfirmedChangeError,
} from '../../shared/adapters/accounts/account-repository.ts';
import { examples, readAddress, readTenant, readWebhookToken } from './arguments.ts';
import { Failure, UsageFailure } from './failure.ts';
import { coloured, foreign, moment } from './print.ts';
import { connect } from './session.ts';

/** `account`: who is told, and what webhooks of a tenant are signed with. */
export function addAccountCommands(program: Command): void {
  const account = program.command('account').description('technical contacts and webhook credentials of a tenant');
  account
    .command('show')
    .description('show the contacts, and whether there are credentials')
    .argument('<tenant>', 'whose account', readTenant)
    .option('--secrets', 'show the webhook token and the signing secrets too', false)
    .addHelpText('after', examples('account show acme', 'account show acme --secrets --json'))
    .action(show);
  account
    .command('set')
    .description('replace the technical contacts, or the webhook token')
    .argument('<tenant>', 'whose account', readTenant)
    .option('--contact <addresses...>', 'all e-mail addresses of the technical contacts', readAddress)
    .option('--webhook-token <token>', 'what webhooks carry as x-monitoring-webhook-token', readWebhookToken)
    .addHelpText('after', examples('account set acme --contact oncall@acme.example lead@acme.example'))
    .action(set);
  account
    .command('rotate-signing-secret')
    .description(
      'give the webhooks of a tenant a new signing secret; the one it replaces signs beside it for 24 hours, older ones do not',
    )
    .argument('<tenant>', 'whose account', readTenant)
    .addHelpText('after', examples('account rotate-signing-secret acme'))
    .action(rotateSecret);
}

async function show(tenant: string, { secrets }: { secrets: boolean }, command: Command): Promise<void> {
  const { accounts, answer } = await connect(command);
  const account = await accounts.describe(tenant);
  answer(described(tenant, account, secrets), text(account, secrets));
}

type SetOptions = { contact?: string[]; webhookToken?: string };

async function set(tenant: string, { contact, webhookToken }: SetOptions, command: Command): Promise<void> {
  if (contact === undefined && webhookToken === undefined) {
    throw new UsageFailure('There is nothing to set: give --contact or --webhook-token.');
  }
  const { accounts, answer } = await connect(command);
  if (contact) await accounts.setTechnicalContacts(tenant, [...new Set(contact)]).catch(explained(tenant));
  if (webhookToken !== undefined) await accounts.setWebhookToken(tenant, webhookToken).catch(explained(tenant));
  const account = await accounts.describe(tenant);
  answer(described(tenant, account, false), text(account, false), note(webhookToken !== undefined));
}

async function rotateSecret(tenant: string, _: object, command: Command): Promise<void> {
  const { accounts, answer } = await connect(command);
  const secret = await accounts.rotateSecret(tenant).catch(explained(tenant));
  const { retired } = await accounts.describe(tenant).catch(() => {
    throw new Failure(
      `The signing secret was replaced, but the account cannot be read. Run \`${showCommand(tenant)}\` to see the new secret.`,
    );
  });
  const until = retired.map((one) => moment(one.untilMs));
  const old = until[0] === undefined ? 'There was none before.' : `The old one signs beside it until ${until[0]}.`;
  answer({ tenant, secret, retired: until }, secret, `${old} ${note(true)}`);
}

const showCommand = (tenant: string): string => `npm run -s ops -- account show ${tenant} --secrets`;

/** Says in one line that another operator was faster, or how to find out whether the account was changed. */
const explained =
  (tenant: string) =>
  (error: unknown): never => {
    if (error instanceof ConcurrentChangeError) throw new Failure(error.message);
    if (!(error instanceof UnconfirmedChangeError)) throw error;
    throw new Failure(`${error.message} Run \`${showCommand(tenant)}\` before you repeat the command.`);
  };

const note = (isNeeded: boolean): string => (isNeeded ? 'Senders use it within a minute.' : '');

function described(tenant: string, account: AccountDescription, withSecrets: boolean) {
  const { contacts, token, secrets, retired } = account;
  return {
    tenant,
    contacts,
    has_webhook_token: token !== undefined,
    signing_secrets: secrets.length,
    retired_secrets: retired.map(({ secret, untilMs }) => ({ until: moment(untilMs), ...(withSecrets && { secret }) })),
    ...(withSecrets && { webhook_token: token ?? null, secrets }),
  };
}

function text({ contacts, token, secrets, retired }: AccountDescription, withSecrets: boolean): string {
  const unset = coloured('dim', 'none yet, made on first use');
  const hidden = (value: string) => (withSecrets ? value : 'set');
  return [
    `contacts         ${contacts.map(foreign).join(', ') || coloured('yellow', 'none')}`,
    `webhook token    ${token === undefined ? unset : hidden(token)}`,
    `signing secret   ${secrets.map(hidden).join(', ') || unset}`,
    ...retired.map(({ secret, untilMs }) => `old secret       ${hidden(secret)}, signs until ${moment(untilMs)}`),
  ].join('\n');
}
