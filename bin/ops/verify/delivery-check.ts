import { SNSClient, SubscribeCommand, UnsubscribeCommand } from '@aws-sdk/client-sns';
import { CreateQueueCommand, DeleteQueueCommand, ReceiveMessageCommand, SendMessageCommand } from '@aws-sdk/client-sqs';
import { DeleteCommand, PutCommand, QueryCommand } from '@aws-sdk/lib-dynamodb';
import { dailyCounter } from '../../../shared/adapters/dynamodb/counters.ts';
import { notificationItems } from '../../../shared/adapters/notifications/notification-items.ts';
import { targetKey } from '../../../shared/adapters/notifications/notification-targets.ts';
import type { AlarmEvent } from '../../../shared/contracts/alarm-event.ts';
import { messageBody } from '../../../shared/contracts/messages.ts';
import { deliveryKey, deliveryPartition } from '../../../shared/domain/delivery-key.ts';
import { reasonOf } from '../../../shared/domain/delivery-status.ts';
import { newNotificationId } from '../../../shared/domain/notification-id.ts';
import { testEvent } from '../../../shared/domain/test-event.ts';
import { OperationError } from '../errors.ts';
import { catchSignals } from '../queues.ts';
import type { Session } from '../session.ts';
import type { Timing } from '../table-scan.ts';

/** What a check found. `resolve` says what to do, if that depends on it. */
export type Finding = { status: 'ok' | 'failed' | 'skipped'; found: string; resolve?: string };

export type Context = { session: Session; timing: Timing };

/** A check of one assumption about a deployment. */
export type Check = {
  name: string;
  proves: string;
  /** What to do if it does not hold. */
  resolve: string;
  run: (context: Context) => Promise<Finding>;
};

export const ok = (found: string): Finding => ({ status: 'ok', found });

export const failed = (found: string, resolve?: string): Finding => ({
  status: 'failed',
  found,
  ...(resolve !== undefined && { resolve }),
});

export const skipped = (found: string): Finding => ({ status: 'skipped', found });

/** Makes a check that only a deployed stack can answer. */
export const ofDeployed =
  (run: (session: Session, stackName: string) => Promise<Finding>): Check['run'] =>
  async ({ session }) => {
    const { stackName } = session.deployment;
    return stackName === undefined ? skipped('not on the local stack') : run(session, stackName);
  };

/** The tenant of the event. Real ones have other names. */
const TENANT = 'ops-verify';

/** Longer than a cold start of every function. */
const DELIVERY_TIMEOUT_MS = 120_000;

/** What SNS publishes before it uses a new subscription is lost, so an event that does not arrive is sent again. */
const RECEIVE_TIMEOUT_MS = 30_000;
const MAX_EVENTS = 3;
const POLL_INTERVAL_MS = 1_000;

/** https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_CreateQueue.html */
const QUEUE_CREATION_MS = 1_000;

type Undo = () => Promise<unknown>;

/** Creates a queue that receives what is sent to the operators' topic. @returns its URL */
const subscribeQueue = async (
  { sqs, deployment: { aws, outputs } }: Session,
  name: string,
  { sleep }: Timing,
  undos: Undo[],
): Promise<string> => {
  const sns = new SNSClient(aws);
  const TopicArn = outputs.ManagedTopicArn;
  const [, partition, , region, account] = TopicArn.split(':');
  const queueArn = `arn:${partition}:sqs:${region}:${account}:${name}`;
  const policy = {
    Version: '2012-10-17',
    Statement: {
      Effect: 'Allow',
      Principal: { Service: 'sns.amazonaws.com' },
      Action: 'sqs:SendMessage',
      Resource: queueArn,
      Condition: { ArnEquals: { 'aws:SourceArn': TopicArn } },
    },
  };
  const { QueueUrl = '' } = await sqs.send(
    new CreateQueueCommand({ QueueName: name, Attributes: { Policy: JSON.stringify(policy) } }),
  );
  undos.push(() => sqs.send(new DeleteQueueCommand({ QueueUrl })));
  await sleep(QUEUE_CREATION_MS);
  const { SubscriptionArn } = await sns.send(
    new SubscribeCommand({ TopicArn, Protocol: 'sqs', Endpoint: queueArn, ReturnSubscriptionArn: true }),
  );
  undos.push(() => sns.send(new UnsubscribeCommand({ SubscriptionArn })));
  return QueueUrl;
};

/** Creates a notification to the operators' topic. It does not count, and no audit names it. @returns its ID */
const createNotification = async ({ documents, deployment: { outputs } }: Session, undos: Undo[]): Promise<string> => {
  const startedMs = Date.now();
  const id = newNotificationId();
  const key = { tenant: TENANT, id };
  const { target } = notificationItems(key, id, { label: 'ops verify', type: 'managed', details: {} });
  // Its deliveries, and what counts them.
  undos.push(async () => {
    const partition = deliveryPartition({ tenant: TENANT, id });
    const { Items = [] } = await documents.send(
      new QueryCommand({
        TableName: outputs.DeliveriesTable,
        KeyConditionExpression: 'pk = :pk',
        ExpressionAttributeValues: { ':pk': partition },
        ConsistentRead: true,
      }),
    );
    for (const { pk, sk } of Items) {
      await documents.send(new DeleteCommand({ TableName: outputs.DeliveriesTable, Key: { pk, sk } }));
    }
    for (const timeMs of [startedMs, Date.now()]) {
      const { key: Key } = dailyCounter('managed', TENANT, timeMs);
      await documents.send(new DeleteCommand({ TableName: outputs.AccountsTable, Key }));
    }
  });
  // First, so that an alert in flight ends.
  undos.push(() => documents.send(new DeleteCommand({ TableName: outputs.NotificationsTable, Key: targetKey(key) })));
  await documents.send(new PutCommand({ TableName: outputs.NotificationsTable, Item: target }));
  return id;
};

const verificationEvent = (notification: string, nowMs: number): AlarmEvent => {
  const { details, ...event } = testEvent(TENANT, nowMs);
  const status = 'This is a check of the deployment by `ops verify`. No alarm has changed its state.';
  return { ...event, details: { ...details, status }, notification_plan: { ok_state: [notification] } };
};

/** Resolves with the first result of `read` that is not undefined, or with undefined after `timeoutMs`. */
type WaitFor = <Result>(read: () => Promise<Result | undefined>, timeoutMs: number) => Promise<Result | undefined>;

/** Returns a function that waits, and throws an `OperationError` if the command is interrupted. */
const interruptible =
  ({ now, sleep }: Timing, { signal }: ReturnType<typeof catchSignals>): WaitFor =>
  async (read, timeoutMs) => {
    const untilMs = now() + timeoutMs;
    while (now() < untilMs) {
      const result = await read();
      if (result !== undefined) return result;
      if (signal() !== undefined) throw new OperationError(`interrupted by ${signal()}`);
      await sleep(POLL_INTERVAL_MS);
    }
    return undefined;
  };

/** Sends events until one arrives. What it creates is in `undos`. */
const sendEvents = async ({ session, timing }: Context, waitFor: WaitFor, undos: Undo[]): Promise<Finding> => {
  const { sqs, deliveries, deployment } = session;
  const queueUrl =
    deployment.stackName && (await subscribeQueue(session, `ops-verify-${newNotificationId()}`, timing, undos));
  const startedMs = timing.now();
  const notification = await createNotification(session, undos);
  const elapsed = () => `after ${((timing.now() - startedMs) / 1000).toFixed(1)} s`;
  const sentIds: string[] = [];
  const receive = new ReceiveMessageCommand({ QueueUrl: queueUrl, WaitTimeSeconds: 10, MaxNumberOfMessages: 10 });
  const readMessage = async () =>
    (await sqs.send(receive)).Messages?.find(({ Body = '' }) => sentIds.some((id) => Body.includes(id)));
  while (sentIds.length < MAX_EVENTS) {
    const event = verificationEvent(notification, timing.now());
    sentIds.push(event.event_id);
    const MessageBody = messageBody(JSON.stringify(event));
    const QueueUrl = deployment.outputs.QueueUrls['alarm-events'].queue;
    await sqs.send(new SendMessageCommand({ QueueUrl, MessageBody, MessageGroupId: TENANT }));
    const readFinal = async () => {
      const [record] = await deliveries.readAll([deliveryKey(event, notification)]);
      return record?.status === 'pending' ? undefined : record;
    };
    const record = await waitFor(readFinal, DELIVERY_TIMEOUT_MS);
    if (record === undefined) return failed(`not delivered within ${DELIVERY_TIMEOUT_MS / 1000} s`);
    if (record.status !== 'delivered') return failed([record.status, reasonOf(record) ?? []].flat().join(': '));
    if (queueUrl === undefined) {
      return ok(`delivered ${elapsed()}; whether the topic forwards it: not on the local stack`);
    }
    if (await waitFor(readMessage, RECEIVE_TIMEOUT_MS)) return ok(`received ${elapsed()}`);
  }
  return failed(`${MAX_EVENTS} events published, but none received from the topic ${elapsed()}`);
};

/** Undoes everything, the newest first, even if some of it fails. @throws the first error */
const undoAll = async (undos: readonly Undo[]): Promise<void> => {
  const errors: unknown[] = [];
  for (const undo of undos.toReversed()) await undo().catch((error: unknown) => errors.push(error));
  if (errors.length > 0) throw errors[0];
};

/** Sends a real event through the whole service, and deletes everything that it creates. */
export const deliveryCheck: Check = {
  name: 'delivery',
  proves: "an event on the queue of alarm events reaches the operators' topic",
  resolve: `find the cause in the logs of dispatch-alarm-events and send-managed; delete what is left with tenant delete ${TENANT}`,
  run: async (context) => {
    const undos: Undo[] = [];
    const interruption = catchSignals();
    try {
      return await sendEvents(context, interruptible(context.timing, interruption), undos);
    } finally {
      await undoAll(undos).finally(interruption.release);
    }
  },
};
