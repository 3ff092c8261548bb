import { type Command, InvalidArgumentError, Option } from 'commander';
import type { TokenDescription } from '../../shared/adapters/tokens/token-repository.ts';
import type { Role } from '../../shared/domain/authorization.ts';
import { tokenHash } from '../../shared/domain/token.ts';
import { examples, readNumber, readTenant, readText } from './arguments.ts';
import { Failure } from './failure.ts';
import { coloured, foreign, moment, table } from './print.ts';
import { connect } from './session.ts';

const DAY = 86_400;
const ID_LENGTH = 8;
const roles = ['admin', 'creator', 'observer'] as const satisfies readonly Role[];

/** `token`: what clients of the API authenticate with. */
export function addTokenCommands(program: Command): void {
  const token = program.command('token').description('issue, list and revoke the tokens of the API');
  token
    .command('create')
    .description('issue a token; it is printed once and cannot be read again')
    .requiredOption('--tenant <tenant>', 'whose token it is', readTenant)
    .addOption(new Option('--role <role>', 'what it may do').choices(roles).makeOptionMandatory())
    .requiredOption('--label <text>', 'what it is for', readText(1, 255))
    .option('--days <number>', 'how long it is valid', readNumber(3_650), 365)
    .addHelpText('after', examples('token create --tenant acme --role admin --label "console of Acme"'))
    .action(create);
  token
    .command('list')
    .description('list the tokens of a tenant, without the tokens themselves')
    .requiredOption('--tenant <tenant>', 'whose tokens', readTenant)
    .addHelpText('after', examples('token list --tenant acme'))
    .action(list);
  token
    .command('revoke')
    .description('revoke a token; functions that remember it go on for up to a minute (setting tokenCacheSeconds)')
    .argument('<id>', 'as `token list` shows it', readId)
    .requiredOption('--tenant <tenant>', 'whose token it is', readTenant)
    .addHelpText('after', examples('token revoke 1f0a92c4 --tenant acme'))
    .action(revoke);
}

type CreateOptions = { tenant: string; role: Role; label: string; days: number };

async function create({ tenant, role, label, days }: CreateOptions, command: Command): Promise<void> {
  const { tokens, answer } = await connect(command);
  const token = await tokens.issue({ tenant, role, label, expiresInSeconds: days * DAY });
  const expires = moment(Date.now() + days * DAY * 1000);
  const id = tokenHash(token).slice(0, ID_LENGTH);
  const note = `${id}: ${role} of ${tenant} until ${expires}. This token is not shown again.`;
  answer({ id, tenant, role, label, expires, token }, token, note);
}

async function list({ tenant }: { tenant: string }, command: Command): Promise<void> {
  const { tokens, answer } = await connect(command);
  const found = (await tokens.list(tenant)).map(described);
  const text = table(found, [
    ['id', ({ id }) => id],
    ['role', ({ role }) => role],
    ['created', ({ created }) => created],
    ['expires', ({ expires, expired }) => (expired ? coloured('dim', `${expires} (expired)`) : expires)],
    ['label', ({ label }) => foreign(label)],
  ]);
  answer(found, found.length > 0 ? text : `Tenant ${tenant} has no tokens.`);
}

async function revoke(id: string, { tenant }: { tenant: string }, command: Command): Promise<void> {
  const { tokens, answer } = await connect(command);
  const [found, another] = (await tokens.list(tenant)).filter(({ hash }) => hash.startsWith(id));
  if (!found) throw new Failure(`Tenant ${tenant} has no token ${id}.`);
  if (another) throw new Failure(`Several tokens of tenant ${tenant} begin with ${id}: give more of the hash.`);
  await tokens.revoke(found.hash);
  answer({ revoked: described(found) }, `Revoked token ${id} of tenant ${tenant} (${foreign(found.label)}).`);
}

function described({ hash, role, label, createdAtMs, expiresAtMs }: TokenDescription) {
  return {
    id: hash.slice(0, ID_LENGTH),
    hash,
    role,
    label,
    created: moment(createdAtMs),
    expires: moment(expiresAtMs),
    expired: expiresAtMs <= Date.now(),
  };
}

function readId(text: string): string {
  if (/^[0-9a-f]{8,64}$/.test(text)) return text;
  throw new InvalidArgumentError('An id is the first 8 hexadecimal digits of the hash of a token, or more.');
}
