import { createTargetReader } from '../shared/adapters/notifications/notification-targets.ts';
import { auditedFunction } from '../shared/api/endpoint.ts';
import { pathId, query } from '../shared/api/request.ts';
import { ok } from '../shared/api/response.ts';
import { createTestRunner, parseTestState } from '../shared/api/test-runner.ts';
import { notFound } from '../shared/domain/errors.ts';

const { environment, client, endpoint, audits } = auditedFunction('test-notification');
const notifications = createTargetReader(client, environment.NOTIFICATIONS_TABLE);
const runTest = createTestRunner(client, environment);

/** POST /notifications/{id}/test: 200 with the result of a test message. */
export const handler = endpoint(
  (request) => ({ id: pathId(request), state: parseTestState(query(request)) }),
  async ({ id, state }, caller) => {
    const { tenant } = caller;
    const readDestination = async () => {
      const target = await notifications.targets([{ tenant, id }]).find({ tenant, id });
      if (!target) throw notFound('The notification');
      return { ...target, state };
    };
    const record = () => audits.record(caller, { action: 'test-notification', target_id: id });
    return ok(await runTest(tenant, readDestination(), record));
  },
);
