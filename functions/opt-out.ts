import { createOptOutKeys } from '../shared/adapters/accounts/opt-out-keys.ts';
import { createOptOuts } from '../shared/adapters/accounts/opt-outs.ts';
import { createAuditLog } from '../shared/adapters/audits/audit-log.ts';
import { createDocumentClient } from '../shared/adapters/aws-client.ts';
import { createSesClient } from '../shared/adapters/ses.ts';
import { parseEnvironment } from '../shared/environment.ts';
import { createOptOutHandler } from '../shared/pipeline/opt-out/handler.ts';
import { createLastEmail } from '../shared/pipeline/opt-out/last-email.ts';

const environment = parseEnvironment('opt-out');
const client = createDocumentClient();
const optOutKeys = createOptOutKeys(client, environment.ACCOUNTS_TABLE);

/** GET and POST of the public page on which recipients stop the emails of a tenant, and undo that. */
export const handler = createOptOutHandler({
  optOutKeys,
  optOuts: createOptOuts(client, environment.ACCOUNTS_TABLE),
  audits: createAuditLog(client, environment),
  sendLastEmail: createLastEmail(environment, optOutKeys, createSesClient()),
});
