import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { createAccountRepository } from '../../shared/adapters/accounts/account-repository.ts';
import { createTokenRepository } from '../../shared/adapters/tokens/token-repository.ts';
import { local } from './aws/aws-service.ts';
import { createTable } from './aws/dynamodb.ts';
import type { Plan } from './aws/template.ts';

/** Tokens that are ready for use: one of each role of tenant `acme`, and an admin of tenant `globex`. */
export interface Tokens {
  admin: string;
  creator: string;
  observer: string;
  other_admin: string;
}

const tokenSeconds = 365 * 24 * 3600;

/** Creates the tables, issues the tokens, and gives `acme` technical contacts. */
export async function seed(plan: Plan, endpoint: string): Promise<Tokens> {
  const client = new DynamoDBClient({
    endpoint,
    region: local.region,
    credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
  });
  try {
    for (const table of plan.tables) await createTable(client, table);
    const documents = DynamoDBDocumentClient.from(client);
    const accounts = createAccountRepository(documents, plan.output('AccountsTable'));
    await accounts.setTechnicalContacts('acme', ['oncall@acme.example', 'lead@acme.example']);
    const tokens = createTokenRepository(documents, plan.output('TokensTable'));
    const issue = (tenant: string, role: 'admin' | 'creator' | 'observer') =>
      tokens.issue({ tenant, role, label: `local ${role}`, expiresInSeconds: tokenSeconds });
    return {
      admin: await issue('acme', 'admin'),
      creator: await issue('acme', 'creator'),
      observer: await issue('acme', 'observer'),
      other_admin: await issue('globex', 'admin'),
    };
  } finally {
    client.destroy();
  }
}
