import { chmodSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { ensureTable } from 'local-aws/dynamodb/table-operations.ts';
import type { Tables } from 'local-aws/dynamodb/tables.ts';
import { StartError } from 'local-aws/start-error.ts';
import type { Plan } from 'local-aws/template.ts';
import { z } from 'zod';
import { createAccountAdministration } from '../../shared/adapters/accounts/account-administration.ts';
import { createAuditLog } from '../../shared/adapters/audits/audit-log.ts';
import { documentOptions } from '../../shared/adapters/dynamodb/items.ts';
import { createTokenRepository } from '../../shared/adapters/tokens/token-repository.ts';
import { DEFAULT_TOKEN_DAYS, OPERATOR, type Role } from '../../shared/contracts/token.ts';
import { DAY_SECONDS } from '../../shared/domain/time.ts';

/** Tokens for each role of tenant `acme`, and an admin token of tenant `globex`. */
export const tokensSchema = z.strictObject({
  admin: z.string(),
  creator: z.string(),
  observer: z.string(),
  other_admin: z.string(),
});

export type Tokens = z.infer<typeof tokensSchema>;

export const GRANTS = {
  admin: { tenant: 'acme', role: 'admin' },
  creator: { tenant: 'acme', role: 'creator' },
  observer: { tenant: 'acme', role: 'observer' },
  other_admin: { tenant: 'globex', role: 'admin' },
} as const satisfies Record<keyof Tokens, { tenant: string; role: Role }>;

export const tokenTenants: Readonly<Record<keyof Tokens, string>> = {
  admin: GRANTS.admin.tenant,
  creator: GRANTS.creator.tenant,
  observer: GRANTS.observer.tenant,
  other_admin: GRANTS.other_admin.tenant,
};

export const TENANTS: readonly string[] = [...new Set(Object.values(tokenTenants))];

const TABLES = 'tables';
const TOKENS = 'tokens.json';
const PORTS = 'ports.json';

/** The entries of a data directory, including the files that become others. */
const ENTRIES = [TABLES, TOKENS, `${TOKENS}.new`, PORTS, `${PORTS}.new`];

const portsSchema = z.record(z.string(), z.number());

/** Opens or creates a data directory. Only the user can read it: it contains tokens. @throws StartError */
export const openDataDirectory = (given: string) => {
  const path = resolve(given);
  const tokensFile = join(path, TOKENS);
  const entries = createDirectory(path);
  const other = entries.find((name) => !ENTRIES.includes(name));
  if (other !== undefined) {
    throw new StartError(
      `${path} is not a data directory, because it contains ${other}: pass --data with another one.`,
    );
  }
  chmodSync(path, 0o700);
  return {
    path,
    tables: join(path, TABLES),
    /** The tokens of the last start; undefined at the first one. The tables contain only their hashes. */
    tokens: entries.includes(TOKENS) ? read(tokensFile, tokensSchema, 'issue new tokens') : undefined,
    /** The ports of the last start, by server; none at the first one. */
    ports: entries.includes(PORTS) ? read(join(path, PORTS), portsSchema, 'get new ports') : {},
    saveTokens: (tokens: Tokens) => write(tokensFile, tokens),
    savePorts: (ports: Readonly<Record<string, number>>) => write(join(path, PORTS), ports),
  };
};

/** A directory that keeps the tables and tokens of a local stack (`npm start -- --data DIR`). */
export type DataDirectory = ReturnType<typeof openDataDirectory>;

const createDirectory = (path: string): string[] => {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
    return readdirSync(path);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new StartError(`${path} cannot be used as data directory: ${reason}.`);
  }
};

const read = <Value>(file: string, schema: z.ZodType<Value>, effect: string): Value => {
  try {
    return schema.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch {
    throw new StartError(`${file} is damaged: delete this file to ${effect}; the tables remain.`);
  }
};

const write = (file: string, value: object): void => {
  writeFileSync(`${file}.new`, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 });
  renameSync(`${file}.new`, file);
};

const TOKEN_LIFETIME_SECONDS = DEFAULT_TOKEN_DAYS * DAY_SECONDS;

/**
 * Creates the tables, issues the tokens and sets the technical contacts of `acme`. With a data directory, that happens
 * at the first start; later, it replaces tokens that were revoked or have expired. @throws StartError if tables do not
 * match
 */
export const seed = async (
  plan: Plan,
  tables: Tables,
  client: DynamoDBClient,
  data?: DataDirectory,
): Promise<Tokens> => {
  for (const table of plan.tables) ensureTable(tables, table);
  const documents = DynamoDBDocumentClient.from(client, documentOptions);
  const accounts = createAccountAdministration(documents, plan.output('AccountsTable'));
  const audits = createAuditLog(documents, {
    AUDITS_TABLE: plan.output('AuditsTable'),
    AUDIT_RETENTION_DAYS: Number(plan.output('AuditRetentionDays')),
  });
  const audit = (tenant: string) =>
    audits.by({ tenant, context: { actor: { type: 'operator', principal: 'npm start' } } });
  const contacts = ['oncall@acme.example', 'lead@acme.example'];
  if (!data?.tokens) await accounts.update('acme', { technical_contacts: contacts }, audit('acme'));
  const repository = createTokenRepository(documents, plan.output('TokensTable'));
  const issue = async (name: keyof Tokens): Promise<string> => {
    const saved = data?.tokens?.[name];
    if (saved !== undefined && (await repository.find(saved))) return saved;
    const { tenant, role } = GRANTS[name];
    const grant = { tenant, role, label: `local ${role}`, expiresInSeconds: TOKEN_LIFETIME_SECONDS, issuer: OPERATOR };
    return (await repository.issue(grant, audit(tenant))).token;
  };
  const tokens: Tokens = {
    admin: await issue('admin'),
    creator: await issue('creator'),
    observer: await issue('observer'),
    other_admin: await issue('other_admin'),
  };
  data?.saveTokens(tokens);
  return tokens;
};
