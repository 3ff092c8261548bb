import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import type { KeyAttribute } from 'local-aws/dynamodb/table.ts';
import { createAccountRepository } from '../../../shared/adapters/accounts/account-repository.ts';
import { createAuditLog } from '../../../shared/adapters/audits/audit-log.ts';
import { documentOptions } from '../../../shared/adapters/dynamodb/items.ts';
import { createNotificationWriter } from '../../../shared/adapters/notifications/notification-writer.ts';
import { contexts } from '../engine/context.ts';
import { eventsOf } from '../rules/planned-alerts.ts';
import { detailsOf } from '../world/receivers.ts';
import { eventBody } from '../world/run.ts';
import { SmallWorld, type SmallWorldOptions, type Snapshot } from './small-world.ts';

/** Creates the client of an operator, whose calls are answered at once. */
export const createOperatorClient = (): DynamoDBDocumentClient =>
  DynamoDBDocumentClient.from(
    new DynamoDBClient({
      region: 'us-east-1',
      endpoint: 'http://aws.test',
      credentials: { accessKeyId: 'operator', secretAccessKey: 'operator' },
    }),
    documentOptions,
  );

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
    const accounts = createAccountRepository(client, plan.output('AccountsTable'));
    const notifications = createNotificationWriter(client, plan.output('NotificationsTable'), Date.now);
    const log = createAuditLog(client, {
      AUDITS_TABLE: plan.output('AuditsTable'),
      AUDIT_RETENTION_DAYS: Number(plan.output('AuditRetentionDays')),
    });
    for (const tenant of scenario.tenants) {
      const { name: id, contacts, summaries } = tenant;
      const audit = log.by({ tenant: id, origin: { actor: { type: 'operator', principal: 'simulation' } } });
      for (const notification of tenant.notifications) {
        const { index, key, type } = notification;
        const details = detailsOf(notification, false);
        ids.set(index, await notifications.create(id, { label: key, type, details }, audit));
      }
      // The first webhook of a tenant would create them.
      await accounts.webhookCredentials(id);
      await accounts.update(
        id,
        { technical_contacts: contacts.map(({ address }) => address), ...(summaries && { summaries }) },
        audit,
      );
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
