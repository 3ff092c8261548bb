import { auditedFunction } from '../shared/api/endpoint.ts';
import { notificationBody, query, validBody } from '../shared/api/request.ts';
import { ok } from '../shared/api/response.ts';
import { createTestRunner, parseTestState } from '../shared/api/test-runner.ts';
import { destinationBody } from '../shared/contracts/notification.ts';
import { serializeRequest } from '../shared/contracts/webhook-request.ts';

const { environment, client, endpoint, audits } = auditedFunction('test-new-notification');
const runTest = createTestRunner(client, environment);

/** POST /test-notification: 200 with the result of a test message to a destination that is not stored. */
export const handler = endpoint(
  (request) => ({
    ...validBody(request, notificationBody(request), destinationBody),
    state: parseTestState(query(request)),
  }),
  async ({ webhook_request, ...destination }, caller) => {
    const target = { ...destination, webhookRequest: serializeRequest(webhook_request) };
    const record = () => audits.record(caller, { action: 'test-new-notification' });
    return ok(await runTest(caller.tenant, Promise.resolve(target), record));
  },
);
