import { createShadowedTenants } from '../shared/adapters/accounts/shadowed-tenants.ts';
import { createDocumentClient } from '../shared/adapters/aws-client.ts';
import { createSnsClient } from '../shared/adapters/sns.ts';
import { parseEnvironment } from '../shared/environment.ts';
import { createShadowReport } from '../shared/pipeline/shadow-report.ts';

const { ACCOUNTS_TABLE, MANAGED_TOPIC } = parseEnvironment('report-shadow-mode');
const { publishToTopic } = createSnsClient();

/** Tells the operators every day which tenants are in shadow mode. */
export const handler = createShadowReport(createShadowedTenants(createDocumentClient(), ACCOUNTS_TABLE), (message) =>
  publishToTopic(MANAGED_TOPIC, message, 5_000),
);
