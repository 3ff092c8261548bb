import { text as readAll } from 'node:stream/consumers';
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { TokenEntry } from '../../shared/adapters/tokens/token-repository.ts';
import { tokenRecord } from '../../shared/api/account-reader.ts';
import type { TokenRecord } from '../../shared/contracts/responses/tokens-and-audits.ts';
import { MAX_LABEL_LENGTH } from '../../shared/contracts/text.ts';
import { DEFAULT_TOKEN_DAYS, MAX_TOKEN_DAYS, OPERATOR, type Role, roles } from '../../shared/contracts/token.ts';
import { ServiceError } from '../../shared/domain/errors.ts';
import { DAY_SECONDS } from '../../shared/domain/time.ts';
import { addWhy, examples, parseNumber, parseSince, parseTenant, parseText } from './arguments.ts';
import { OperationError, UsageError } from './errors.ts';
import { type Column, colorize, formatTable, sanitize, toSecond } from './print.ts';
import { connect, connectForChange } from './session.ts';
import { assertKnown } from './targets.ts';

export const addTokenCommands = (program: Command): void => {
  const token = program.command('token').description('issue, list and revoke API tokens');
  addWhy(token.command('create'))
    .description('issue a token, which is shown only once')
    .requiredOption('--tenant <tenant>', 'the tenant of the token', parseTenant)
    .addOption(new Option('--role <role>', 'the role of the token').choices(roles).makeOptionMandatory())
    .requiredOption('--label <text>', 'a description of its use', parseText(1, MAX_LABEL_LENGTH))
    .option('--days <number>', 'days until it expires', parseNumber(MAX_TOKEN_DAYS), DEFAULT_TOKEN_DAYS)
    .option('--new', 'accept a tenant of which nothing is stored', false)
    .addHelpText(
      'after',
      examples('token create --tenant acme --role admin --label "console of Acme" --stack MonitoringNotifications'),
    )
    .action(create);
  token
    .command('list')
    .description('list the tokens of a tenant without their secrets')
    .requiredOption('--tenant <tenant>', 'the tenant of the tokens', parseTenant)
    .addHelpText('after', examples('token list --tenant acme'))
    .action(list);
  token
    .command('find')
    .description('read a token from standard input, and name its tenant and ID')
    .addHelpText('after', examples('token find --stack MonitoringNotifications'))
    .action(find);
  addWhy(token.command('revoke'))
    .description(
      'revoke a token with those that were issued since a time, or all tokens, even the last admin token; it takes effect within the setting tokenCacheSeconds, a minute by default',
    )
    .argument('[id]', 'an ID from `token find` or `token list`, as in the API', parseId)
    .requiredOption('--tenant <tenant>', 'the tenant of the token', parseTenant)
    .option(
      '--issued-since <time>',
      'also revoke every token that a token issued since a time, such as 2026-11-22T09:00Z, or a duration, such as 24h; or none',
      (text) => (text === 'none' ? text : parseSince(text)),
    )
    .addOption(new Option('--all', 'revoke all tokens of the tenant').conflicts('issuedSince'))
    .addHelpText(
      'after',
      examples(
        'token revoke --all --tenant acme',
        'token revoke tk01M7ZZ2AQ9MC8P6P3KH5Y23K83 --tenant acme --issued-since 24h',
      ),
    )
    .action(revoke);
};

type CreateOptions = { tenant: string; role: Role; label: string; days: number; new: boolean };

const create = async (options: CreateOptions, command: Command): Promise<void> => {
  const { tenant, role, label, days } = options;
  const session = await connectForChange(command);
  await assertKnown(session, tenant, options.new);
  const { tokens, audit, print } = session;
  const { token, id, expires_at_ms } = await tokens
    .issue({ tenant, role, label, expiresInSeconds: days * DAY_SECONDS, issuer: OPERATOR }, await audit(tenant))
    .catch(explainServiceError);
  const note = `Token ${id}: ${role} of tenant ${tenant}, expires ${toSecond(expires_at_ms)}. It is not shown again.`;
  print({ id, token, role, label, expires_at: expires_at_ms }, token, note);
};

const list = async ({ tenant }: { tenant: string }, command: Command): Promise<void> => {
  const session = await connect(command);
  await assertKnown(session, tenant);
  const { tokens, print } = session;
  const found = (await tokens.list(tenant)).map(tokenRecord);
  print(found, found.length > 0 ? formatTable(found, tokenColumns) : `Tenant ${tenant} has no tokens.`);
};

const find = async (_: object, command: Command): Promise<void> => {
  const { tokens, print } = await connect(command);
  const found = await tokens.find((await readAll(process.stdin)).trim());
  if (!found) throw new OperationError('It is no valid token of this stack: it may have expired, or was revoked.');
  const { tenant, role, token } = found;
  print(
    { tenant_id: tenant, ...token, role },
    `Token ${token.id} of tenant ${tenant} (${role}, ${sanitize(token.label)}).`,
  );
};

type RevokeOptions = { tenant: string; issuedSince?: number | 'none'; all?: true };

const revoke = async (
  id: string | undefined,
  { tenant, issuedSince, all }: RevokeOptions,
  command: Command,
): Promise<void> => {
  if ((id === undefined) !== (all === true)) throw new UsageError('Pass either the ID of a token or --all.');
  if (!all && issuedSince === undefined) {
    throw new UsageError(
      'Whoever had the token may have issued others: pass --issued-since with the time since when, such as 24h, or none.',
    );
  }
  const issuedSinceMs = issuedSince === 'none' ? undefined : issuedSince;
  const session = await connectForChange(command);
  await assertKnown(session, tenant);
  const { tokens, audit, print } = session;
  const revokeOne = (one: string) => tokens.revoke({ tenant, id: one, revoker: OPERATOR, issuedSinceMs }, entry);
  const entry = await audit(tenant);
  const request = id === undefined ? tokens.revokeAll(tenant, entry) : revokeOne(id);
  const revoked = await request.catch((error: unknown) => {
    if (!(error instanceof ServiceError) || error.type !== 'notFoundError') return explainServiceError(error);
    throw new OperationError(`Tenant ${tenant} has no token ${id}: see "token list --tenant ${tenant}".`);
  });
  print({ revoked: revoked.map(tokenRecord) }, revokedText(tenant, revoked));
};

export const revokedText = (tenant: string, revoked: readonly TokenEntry[]): string =>
  revoked.map(({ id, label }) => `Revoked token ${id} of tenant ${tenant} (${sanitize(label)}).`).join('\n') ||
  `Tenant ${tenant} has no tokens.`;

const expiry = ({ expires_at }: TokenRecord): string =>
  expires_at <= Date.now() ? colorize('dim', `${toSecond(expires_at)} (expired)`) : toSecond(expires_at);

const tokenColumns: readonly Column<TokenRecord>[] = [
  ['id', ({ id }) => id],
  ['role', ({ role }) => role],
  ['issuer', ({ issuer }) => issuer],
  ['created', ({ created_at }) => toSecond(created_at)],
  ['expires', expiry],
  ['label', ({ label }) => sanitize(label)],
];

/** Rethrows a ServiceError with the message and details that the API would return. */
const explainServiceError = (error: unknown): never => {
  if (!(error instanceof ServiceError)) throw error;
  const { message, details } = error;
  throw new OperationError(details === message ? message : `${message} ${details}`);
};

const parseId = (text: string): string => {
  if (/^tk[0-9A-Z]{26}$/.test(text)) return text;
  throw new InvalidArgumentError('A token ID is tk and 26 characters, as `token list` shows it.');
};
