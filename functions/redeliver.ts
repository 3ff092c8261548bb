import { createAccountAdministration } from '../shared/adapters/accounts/account-administration.ts';
import { createDeliveryReader } from '../shared/adapters/deliveries/delivery-reader.ts';
import { createDeliveryChanges } from '../shared/adapters/deliveries/delivery-repository.ts';
import { createFailedMessageList } from '../shared/adapters/deliveries/failed-message-list.ts';
import { createCounters } from '../shared/adapters/dynamodb/counters.ts';
import { createTargetReader } from '../shared/adapters/notifications/notification-targets.ts';
import { createQueues } from '../shared/adapters/queues.ts';
import { auditedFunction } from '../shared/api/endpoint.ts';
import { createRedelivery, createRetryNow } from '../shared/api/redelivery.ts';
import { jsonBody, pathId, validBody } from '../shared/api/request.ts';
import { accepted } from '../shared/api/response.ts';
import { redeliveryBody } from '../shared/contracts/redelivery.ts';

const { environment, client, endpoint, audits } = auditedFunction('redeliver');
const accounts = createAccountAdministration(client, environment.ACCOUNTS_TABLE);
const notifications = createTargetReader(client, environment.NOTIFICATIONS_TABLE);
const deliveries = createDeliveryReader(client, environment.DELIVERIES_TABLE);
const { requestRetry } = createDeliveryChanges(client, environment.DELIVERIES_TABLE);
const retryNow = createRetryNow({ notifications, deliveries: { ...deliveries, requestRetry } });
const redeliver = createRedelivery(
  {
    notifications,
    deliveries,
    failedMessages: createFailedMessageList(client, environment.DELIVERIES_TABLE),
    queues: createQueues(),
    counters: createCounters(client, environment.ACCOUNTS_TABLE),
    limitOf: accounts.currentLimit('redeliveriesPerTenantPerDay', environment.TENANT_LIMITS),
  },
  environment,
);

/**
 * POST /notifications/{id}/redeliver: 202 with the number of deliveries that start a new round, or of
 * waiting ones that become due.
 */
export const handler = endpoint(
  (request) => ({
    id: pathId(request),
    redelivery: validBody(request, jsonBody(request), redeliveryBody),
  }),
  async ({ id, redelivery }, caller, timeLeft) => {
    const change = { action: 'redeliver', target_id: id } as const;
    const key = { tenant: caller.tenant, id };
    return accepted(
      redelivery.status === undefined
        ? await redeliver(key, redelivery, timeLeft, () => audits.by(caller)(change))
        : await retryNow(key, redelivery, timeLeft, () => audits.record(caller, change)),
    );
  },
);
