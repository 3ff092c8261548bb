import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { ensureTable } from 'local-aws/dynamodb/table-operations.ts';
import type { Tables } from 'local-aws/dynamodb/tables.ts';
import type { Plan } from 'local-aws/template.ts';
import { createAccountRepository } from '../../shared/adapters/accounts/account-repository.ts';
import { createAuditLog } from '../../shared/adapters/audits/audit-log.ts';
import { documentOptions } from '../../shared/adapters/dynamodb/items.ts';
import { createTokenRepository } from '../../shared/adapters/tokens/token-repository.ts';
import { DEFAULT_TOKEN_DAYS, OPERATOR } from '../../shared/contracts/token.ts';
import { DAY_SECONDS } from '../../shared/domain/day.ts';
import { type DataDirectory, GRANTS, type Tokens } from './data-directory.ts';

const TOKEN_LIFETIME_SECONDS = DEFAULT_TOKEN_DAYS * DAY_SECONDS;

/**
 * Creates the tables, issues the tokens and sets the technical contacts of `acme`. With a data directory, all this
 * happens at the first start only; later, it issues only tokens that were revoked or have expired.
 *
 * @throws StartError if the tables of the data directory do not match the template
 */
export const seed = async (
  plan: Plan,
  tables: Tables,
  client: DynamoDBClient,
  data?: DataDirectory,
): Promise<Tokens> => {
  for (const table of plan.tables) ensureTable(tables, table);
  const documents = DynamoDBDocumentClient.from(client, documentOptions);
  const accounts = createAccountRepository(documents, plan.output('AccountsTable'));
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
