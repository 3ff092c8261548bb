import { createEmailStops } from '../shared/adapters/accounts/email-stops.ts';
import { createOptOutKeys } from '../shared/adapters/accounts/opt-out-keys.ts';
import { createAuditLog } from '../shared/adapters/audits/audit-log.ts';
import { createDocumentClient } from '../shared/adapters/aws-client.ts';
import { createQueues } from '../shared/adapters/queues.ts';
import { parseEnvironment } from '../shared/environment.ts';
import { createOptOutHandler } from '../shared/pipeline/opt-out.ts';
import { createStopReports } from '../shared/pipeline/report-messages.ts';

const environment = parseEnvironment('opt-out');
const client = createDocumentClient();

/** GET, HEAD and POST of the public page on which recipients stop the emails of a tenant, and resume them. */
export const handler = createOptOutHandler({
  optOutKeys: createOptOutKeys(client, environment.ACCOUNTS_TABLE),
  stops: createEmailStops(client, environment.ACCOUNTS_TABLE),
  audits: createAuditLog(client, environment),
  reportStop: createStopReports(createQueues(), environment.REPORTS_QUEUE),
});
