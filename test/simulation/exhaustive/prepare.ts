import type { KeyAttribute } from 'local-aws/dynamodb/table.ts';
import { createAccountRepository } from '../../../shared/adapters/accounts/account-repository.ts';
import { createNotificationWriter } from '../../../shared/adapters/notifications/notification-writer.ts';
import { contexts } from '../engine/context.ts';
import { eventsOf } from '../rules/planned-alerts.ts';
import { eventBody } from '../world/alarm-events.ts';
import { createOperatorClient, createOperators } from '../world/operators.ts';
import { detailsOf } from '../world/receivers.ts';
import { SmallWorld, type SmallWorldOptions, type Snapshot } from './small-world.ts';

/** Takes what happens by default until all workers have ended. */
export const finishWorkers = async (world: SmallWorld): Promise<void> => {
  do await world.settle();
  while (await world.takeNext());
};

/** Stores the tenant of a scenario, and dispatches its events: what remains is to deliver the messages. */
export const prepare = async (options: SmallWorldOptions): Promise<Snapshot> => {
  const { plan, scenario } = options;
  const world = new SmallWorld(options);
  const ids = new Map<number, string>();
  for (const { name, keys } of plan.tables) {
    const [partition, sort] = keys.map(({ AttributeName = '' }): KeyAttribute => ({ name: AttributeName, type: 'S' }));
    if (partition) world.tables.load({ name, partition, sort });
  }
  await contexts.run(world.context, async () => {
    const client = createOperatorClient();
    const operators = createOperators({ plan, queues: world.queues, time: world.time });
    const notifications = createNotificationWriter(client, plan.output('NotificationsTable'), Date.now);
    for (const tenant of scenario.tenants) {
      for (const notification of tenant.notifications) {
        const { index, key, type } = notification;
        const details = detailsOf(notification, false);
        const audit = operators.auditOf(tenant.name);
        ids.set(
          index,
          await notifications.create({ tenant: tenant.name, attributes: { label: key, type, details }, audit }),
        );
      }
      // The first webhook of a tenant would create them.
      await createAccountRepository(client, plan.output('AccountsTable')).webhookCredentials(tenant.name);
      await operators.setUp(tenant, undefined);
    }
    const queue = world.queue('Delivery-AlarmEvents');
    for (const event of eventsOf(scenario)) {
      queue.send({ body: eventBody(event, ids), attributes: new Map(), groupId: event.tenant, senderId: 'pipeline' });
      await world.receive(queue);
      await finishWorkers(world);
    }
  });
  const messages = [...world.queues].flatMap(([queue, { messages: all }]) =>
    all.map((message) => ({ queue, message })),
  );
  return { tables: world.tables, ids, messages };
};
