import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { LOCAL_ENV } from 'local-aws/aws-service.ts';
import { createAccountRepository } from '../../shared/adapters/accounts/account-repository.ts';
import { documentOptions } from '../../shared/adapters/dynamodb/items.ts';
import type { TenantCredentials } from './inbox/verify-webhook.ts';

/** Reads the webhook credentials of tenants from the Accounts table. */
export const connectAccounts = (options: { endpoint: string; table: string; now: () => number }) => {
  const client = new DynamoDBClient({
    endpoint: options.endpoint,
    region: LOCAL_ENV.region,
    credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
  });
  const accounts = createAccountRepository(
    DynamoDBDocumentClient.from(client, documentOptions),
    options.table,
    options.now,
  );
  return {
    /** Returns the credentials as they are stored now, unlike senders, which cache them for a minute. */
    credentialsOf: async (tenant: string): Promise<TenantCredentials> => {
      const { token, secrets, retired } = await accounts.describe(tenant);
      return { token, secrets, replaced: retired.map(({ secret }) => secret) };
    },
    close: () => client.destroy(),
  };
};
