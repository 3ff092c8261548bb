import { Aws } from 'aws-cdk-lib';
import { AccountPrincipal, CompositePrincipal, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import type { ConfigurationSet } from 'aws-cdk-lib/aws-ses';
import type { Topic } from 'aws-cdk-lib/aws-sns';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import {
  byType,
  type NotificationTypeId,
  notificationTypeIds,
  notificationTypes,
} from '../shared/contracts/notification-types.ts';
import { senderName } from '../shared/environment.ts';
import { allowSendEmail } from './email.ts';
import type { Network } from './network.ts';
import { createHeartbeat } from './schedules.ts';
import { allow, type FunctionDefaults, ServiceFunction } from './service-function.ts';
import { reservedSenderConcurrency, type Settings, senderConcurrency } from './settings.ts';
import type { Storage } from './storage.ts';
import { RETRY_BATCH_SIZE, SenderQueue, WorkQueue, WorkQueueWithDeadLetters } from './work-queue.ts';

/** `network`: the VPC of the types that send by HTTP, if they run in one. */
export type SendingResources = {
  configurationSet: ConfigurationSet;
  managedTopic: Topic;
  network: Network | undefined;
};

/** The memory of a sender. It mostly waits, which costs in proportion to its memory: docs/benchmarks.md#memory. */
const SENDER_MEMORY_MB = 256;

export type Sender = { type: NotificationTypeId; queue: SenderQueue; lambda: LambdaFunction };

export class Delivery extends Construct {
  readonly alarmEvents: WorkQueueWithDeadLetters;
  readonly dispatch: LambdaFunction;
  readonly crashedQueue: Queue;
  readonly senders: readonly Sender[];
  readonly #queues: Readonly<Record<NotificationTypeId, SenderQueue>>;
  /** Dispatch, the watcher and others send to it. */
  readonly reports: WorkQueue;
  readonly heartbeatRoleId: string | undefined;

  constructor(
    scope: Construct,
    id: string,
    defaults: FunctionDefaults,
    storage: Storage,
    resources: SendingResources,
    crashedQueue: Queue,
  ) {
    super(scope, id);
    this.crashedQueue = crashedQueue;
    const { settings } = defaults;
    this.#queues = byType((type) => new SenderQueue(this, type, crashedQueue, settings));

    this.reports = new WorkQueue(this, 'Reports', crashedQueue);
    this.alarmEvents = new WorkQueueWithDeadLetters(this, 'AlarmEvents', crashedQueue);
    const producers = settings.producerAccounts.map((account) => new AccountPrincipal(account));
    // One statement, because a policy of SQS has at most 20.
    if (producers.length > 0) this.alarmEvents.queue.grantSendMessages(new CompositePrincipal(...producers));
    const heartbeat = settings.heartbeatUrl ? createHeartbeat(this, this.alarmEvents.queue) : undefined;
    this.heartbeatRoleId = heartbeat?.roleId;
    this.dispatch = this.#createDispatch(defaults, storage);
    // Dispatch must know the role before it receives heartbeats.
    heartbeat?.schedule.node.addDependency(this.dispatch);
    const permissions = this.#senderPermissions(settings, storage, resources);
    this.senders = notificationTypeIds.map((type) => {
      const { sendsByHttp } = notificationTypes[type];
      const queue = this.#queues[type];
      const network = sendsByHttp ? resources.network : undefined;
      const statements = [
        ...permissions[type],
        ...queue.allowConsume(),
        this.#allowForward(type),
        ...(network?.vpcStatements() ?? []),
      ];
      const { lambda } = new ServiceFunction(this, senderName(type), defaults, statements, {
        variables: { DEAD_LETTER_QUEUE: queue.deadLetterQueue.queueUrl, RETRY_QUEUE: queue.retries.queueUrl },
        sendsToItself: true,
        memoryMb: settings.memoryMbByType[type] ?? settings.memoryMb ?? SENDER_MEMORY_MB,
        // In a batch of retries, every message may need a slow DNS lookup.
        maxLookups: sendsByHttp ? RETRY_BATCH_SIZE : undefined,
        reservedConcurrency: settings.reserveConcurrency ? reservedSenderConcurrency(settings, type) : undefined,
      });
      network?.attachToVpc(lambda);
      queue.addConsumer(lambda, settings.developmentStage ? undefined : senderConcurrency(settings, type));
      return { type, queue, lambda };
    });
  }

  /**
   * Allows to send to the queues for first attempts: deliveries, redeliveries, messages that follow a change of the type
   * or wait for an incident lock, and notices.
   */
  allowSend(types: readonly NotificationTypeId[] = notificationTypeIds): PolicyStatement {
    const arns = types.map((type) => this.#queues[type].queue.queueArn);
    return allow(['sqs:SendMessage'], arns);
  }

  /** Allows a sender to forward to other types, and to its own what waits for an incident lock. */
  #allowForward(type: NotificationTypeId): PolicyStatement {
    const isOrdered = notificationTypes[type].hasIncidents || type === 'webhook';
    return this.allowSend(notificationTypeIds.filter((to) => to !== type || isOrdered));
  }

  #createDispatch(defaults: FunctionDefaults, { notifications, deliveries }: Storage): LambdaFunction {
    const { developmentStage, dispatchConcurrency, reserveConcurrency } = defaults.settings;
    const statements = [
      notifications.allow('BatchGetItem'),
      // The list of the destinations of an event (docs/decisions/notices.md#nobody-reached).
      deliveries.allow('PutItem'),
      this.allowSend(),
      this.reports.allowSend(),
      ...this.alarmEvents.allowConsume(),
    ];
    const dispatch = new ServiceFunction(this, 'dispatch-alarm-events', defaults, statements, {
      variables: { DEAD_LETTER_QUEUE: this.alarmEvents.deadLetterQueue.queueUrl },
      reservedConcurrency: reserveConcurrency ? dispatchConcurrency : undefined,
    });
    this.alarmEvents.addConsumer(dispatch.lambda, developmentStage ? undefined : dispatchConcurrency);
    return dispatch.lambda;
  }

  /** Returns what the sender of each type may do, except for queues. */
  #senderPermissions(
    { emailFrom }: Settings,
    { deliveries, accounts, notifications }: Storage,
    { configurationSet, managedTopic }: SendingResources,
  ): Record<NotificationTypeId, PolicyStatement[]> {
    const common = [
      notifications.allow('BatchGetItem'),
      deliveries.allow('PutItem', 'BatchGetItem', 'UpdateItem'),
      accounts.allow('GetItem'),
    ];
    // Webhook credentials are created when they are first needed, and messages are counted.
    const writesAccount = [...common, accounts.allow('UpdateItem')];
    // The alarms of a summary, and the usage of the daily limits (docs/decisions/deliveries.md#summaries).
    const summarizes = [...writesAccount, deliveries.allow('Query'), accounts.allow('BatchGetItem')];
    // An address that SES rejects stops its mailbox, which is reported.
    const sendsEmail = [...summarizes, allowSendEmail(configurationSet, emailFrom), this.reports.allowSend()];
    // IAM has no resource type for phone numbers: everything except topics.
    const notResources = [`arn:${Aws.PARTITION}:sns:*:*:*`];
    return {
      email: sendsEmail,
      technicalContactsEmail: sendsEmail,
      webhook: writesAccount,
      sms: [...summarizes, new PolicyStatement({ actions: ['sns:Publish'], notResources })],
      incidentpager: common,
      incidentrouter: writesAccount,
      atomfeed: common,
      managed: [...writesAccount, allow(['sns:Publish'], [managedTopic.topicArn])],
    };
  }
}
