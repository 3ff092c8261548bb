import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { createAccountRepository } from '../../shared/adapters/accounts/account-repository.ts';
import { createTokenRepository } from '../../shared/adapters/tokens/token-repository.ts';
import { DEFAULT_TOKEN_DAYS, type Role } from '../../shared/contracts/token.ts';
import { DAY_SECONDS } from '../../shared/domain/day.ts';
import { LOCAL_ENV } from './aws/aws-service.ts';
import { createTable } from './aws/dynamodb.ts';
import type { Plan } from './aws/template.ts';

/** Tokens for each role of tenant `acme`, and an admin token of tenant `globex`. */
export type Tokens = {
  admin: string;
  creator: string;
  observer: string;
  other_admin: string;
};

/** The tenant of each token. */
export const tokenTenants: Readonly<Record<keyof Tokens, string>> = {
  admin: 'acme',
  creator: 'acme',
  observer: 'acme',
  other_admin: 'globex',
};

/** The tenants that have tokens. */
export const TENANTS: readonly string[] = [...new Set(Object.values(tokenTenants))];

const TOKEN_LIFETIME_SECONDS = DEFAULT_TOKEN_DAYS * DAY_SECONDS;

/** Creates the tables, issues the tokens and sets the technical contacts of `acme`. */
export const seed = async (plan: Plan, endpoint: string): Promise<Tokens> => {
  const client = new DynamoDBClient({
    endpoint,
    region: LOCAL_ENV.region,
    credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
  });
  try {
    for (const table of plan.tables) await createTable(client, table);
    const documents = DynamoDBDocumentClient.from(client);
    const accounts = createAccountRepository(documents, plan.output('AccountsTable'));
    await accounts.setTechnicalContacts('acme', ['oncall@acme.example', 'lead@acme.example']);
    const tokens = createTokenRepository(documents, plan.output('TokensTable'));
    const issue = async (tenant: string, role: Role): Promise<string> => {
      const grant = { tenant, role, label: `local ${role}`, expiresInSeconds: TOKEN_LIFETIME_SECONDS };
      return (await tokens.issue(grant)).token;
    };
    return {
      admin: await issue('acme', 'admin'),
      creator: await issue('acme', 'creator'),
      observer: await issue('acme', 'observer'),
      other_admin: await issue('globex', 'admin'),
    };
  } finally {
    client.destroy();
  }
};
