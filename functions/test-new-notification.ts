import { createLimitReader } from '../shared/adapters/accounts/limit-reader.ts';
import { createTestCounter } from '../shared/adapters/accounts/test-counter.ts';
import { createAuditLog } from '../shared/adapters/audits/audit-log.ts';
import { createDocumentClient } from '../shared/adapters/aws-client.ts';
import { tokenAuthentication } from '../shared/api/authentication.ts';
import { endpoint } from '../shared/api/endpoint.ts';
import { notificationBody, query, valid } from '../shared/api/request.ts';
import { ok } from '../shared/api/response.ts';
import { createTestRunner, parseTestState } from '../shared/api/test-runner.ts';
import { parseDestination } from '../shared/contracts/notification.ts';
import { serializeRequest } from '../shared/contracts/webhook-request.ts';
import { parseEnvironment } from '../shared/environment.ts';

const environment = parseEnvironment('test-new-notification');
const client = createDocumentClient();
const audits = createAuditLog(client, environment);
const runTest = createTestRunner(
  createTestCounter(client, environment.ACCOUNTS_TABLE),
  createLimitReader(client, environment.ACCOUNTS_TABLE, 'testsPerTenantPerDay', environment.TENANT_LIMITS),
  environment,
);

/** POST /test-notification: 200 with the result of a test message to a destination that is not stored. */
export const handler = endpoint(
  'test-new-notification',
  tokenAuthentication(client, environment),
  (request) => ({ ...valid(parseDestination(notificationBody(request))), state: parseTestState(query(request)) }),
  async ({ webhook_request, ...destination }, caller) => {
    const target = { ...destination, webhookRequest: serializeRequest(webhook_request) };
    const record = () => audits.record(caller, { action: 'test-new-notification' });
    return ok(await runTest(caller.tenant, Promise.resolve(target), record));
  },
);
