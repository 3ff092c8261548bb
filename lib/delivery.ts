import { Aws, Stack } from 'aws-cdk-lib';
import { AccountPrincipal, CompositePrincipal, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import {
  byType,
  type NotificationTypeId,
  notificationTypeIds,
  notificationTypes,
} from '../shared/contracts/notification-types.ts';
import { type EnvironmentOf, senderName } from '../shared/environment.ts';
import { ReportsQueue } from './delivery-reports.ts';
import type { Email } from './email.ts';
import { createHeartbeat } from './heartbeat.ts';
import type { ManagedTopic } from './managed-topic.ts';
import type { Network } from './network.ts';
import { allow, flag, ResourceAccess } from './resource-access.ts';
import { type FunctionDefaults, ServiceFunction } from './service-function.ts';
import { egressOf, reservedSenderConcurrency, type Settings, senderConcurrency, tenantLimitsOf } from './settings.ts';
import type { Storage } from './storage.ts';
import { RETRY_BATCH_SIZE, SenderQueue, WorkQueueWithDeadLetters } from './work-queue.ts';

/** The resources that senders send through. */
export type SendingResources = {
  email: Email;
  managedTopic: ManagedTopic;
  /** The base URL of the API, for links in notices. */
  apiUrl: string;
  /** The VPC of the types that send by HTTP; undefined if they run outside a VPC. */
  network: Network | undefined;
};

/** The memory of a sender. It mostly waits, which costs in proportion to its memory: docs/benchmarks.md#memory. */
const SENDER_MEMORY_MB = 256;

/**
 * Returns the access to send SMS. IAM has no resource type for phone numbers, so the statement allows everything except
 * topics.
 */
const smsAccess = ({ smsSenderId, smsOriginationNumber, smsMaxPriceUsd, smsCountries }: Settings) =>
  new ResourceAccess(
    {
      SMS_COUNTRIES: smsCountries.join(','),
      SMS_SENDER_ID: smsSenderId,
      SMS_ORIGINATION_NUMBER: smsOriginationNumber,
      SMS_MAX_PRICE_USD: smsMaxPriceUsd?.toString(),
    },
    new PolicyStatement({ actions: ['sns:Publish'], notResources: [`arn:${Aws.PARTITION}:sns:*:*:*`] }),
  );

/** The queues and the sender function of a notification type. */
export type Sender = { type: NotificationTypeId; queue: SenderQueue; lambda: LambdaFunction };

/**
 * The delivery pipeline: the queue of alarm events, the dispatch function, and queues and a sender for each
 * notification type.
 */
export class Delivery extends Construct {
  readonly alarmEvents: WorkQueueWithDeadLetters;
  readonly dispatch: LambdaFunction;
  readonly crashedQueue: Queue;
  readonly senders: readonly Sender[];
  readonly #queues: Readonly<Record<NotificationTypeId, SenderQueue>>;
  readonly reports: ReportsQueue;

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

    this.reports = new ReportsQueue(this, 'Reports', crashedQueue);
    this.alarmEvents = new WorkQueueWithDeadLetters(this, 'AlarmEvents', crashedQueue);
    const producers = settings.producerAccounts.map((account) => new AccountPrincipal(account));
    // One statement, because a policy of SQS has at most 20.
    if (producers.length > 0) this.alarmEvents.queue.grantSendMessages(new CompositePrincipal(...producers));
    const heartbeat = settings.heartbeatUrl ? createHeartbeat(this, this.alarmEvents.queue) : undefined;
    this.dispatch = this.#createDispatch(defaults, storage, heartbeat?.roleId);
    // Dispatch must know the role before it receives heartbeats.
    heartbeat?.schedule.node.addDependency(this.dispatch);
    const senderAccess = this.#senderAccess(defaults, storage, resources);
    this.senders = notificationTypeIds.map((type) => {
      const { sendsByHttp } = notificationTypes[type];
      const queue = this.#queues[type];
      const access = senderAccess[type].and(queue.consumerAccess()).and(this.#forwardAccess(type));
      const { lambda } = new ServiceFunction(this, senderName(type), defaults, access, {
        sendsToItself: true,
        memoryMb: settings.memoryMbByType[type] ?? settings.memoryMb ?? SENDER_MEMORY_MB,
        // In a batch of retries, every message may need a slow DNS lookup.
        maxLookups: sendsByHttp ? RETRY_BATCH_SIZE : undefined,
        reservedConcurrency: settings.reserveConcurrency ? reservedSenderConcurrency(settings, type) : undefined,
        network: sendsByHttp ? resources.network : undefined,
      });
      queue.addConsumer(lambda, settings.developmentStage ? undefined : senderConcurrency(settings, type));
      return { type, queue, lambda };
    });
  }

  /**
   * Grants permission to send to the queues for first attempts of all types: deliveries, redeliveries, messages that
   * follow a change of the type or wait for an incident lock, and notices.
   */
  sendAccess(types: readonly NotificationTypeId[] = notificationTypeIds): ResourceAccess<{ SENDER_QUEUES: string }> {
    const urls = byType((type) => this.#queues[type].queue.queueUrl);
    const arns = types.map((type) => this.#queues[type].queue.queueArn);
    return new ResourceAccess({ SENDER_QUEUES: Stack.of(this).toJsonString(urls) }, allow(['sqs:SendMessage'], arns));
  }

  /** Grants a sender permission to forward to other types, and to its own what waits for an incident lock. */
  #forwardAccess(type: NotificationTypeId): ResourceAccess<{ SENDER_QUEUES: string }> {
    const isOrdered = notificationTypes[type].hasIncidents || type === 'webhook';
    return this.sendAccess(notificationTypeIds.filter((to) => to !== type || isOrdered));
  }

  /** Creates the dispatch function, which consumes the queue of alarm events. */
  #createDispatch(defaults: FunctionDefaults, storage: Storage, heartbeatRoleId: string | undefined): LambdaFunction {
    const { developmentStage, dispatchConcurrency, reserveConcurrency, expectedEventIntervalMinutes } =
      defaults.settings;
    const dispatch = new ServiceFunction(
      this,
      'dispatch-alarm-events',
      defaults,
      storage.notifications
        .access('BatchGetItem')
        // The list of the destinations of an event (docs/decisions/notices.md#nobody-reached).
        .and(storage.deliveries.access('PutItem'))
        .and(this.sendAccess())
        .and(this.reports.sendAccess())
        .and(this.alarmEvents.consumerAccess())
        .and(
          new ResourceAccess({
            ALARM_EVENTS_QUEUE: this.alarmEvents.queue.queueUrl,
            HEARTBEAT_ROLE_ID: heartbeatRoleId,
            COUNT_EVENTS: flag(expectedEventIntervalMinutes !== undefined),
          }),
        ),
      { reservedConcurrency: reserveConcurrency ? dispatchConcurrency : undefined },
    );
    this.alarmEvents.addConsumer(dispatch.lambda, developmentStage ? undefined : dispatchConcurrency);
    return dispatch.lambda;
  }

  /** Returns the access of each type's sender, except for queues. The compiler requires an entry for every type. */
  #senderAccess(
    { settings }: FunctionDefaults,
    { deliveries, accounts, notifications }: Storage,
    { email, managedTopic, apiUrl }: SendingResources,
  ) {
    const common = notifications
      .access('BatchGetItem')
      .and(deliveries.access('PutItem', 'BatchGetItem', 'UpdateItem'))
      .and(accounts.access('GetItem'))
      .and(new ResourceAccess({ RETRY_DELAY_SCALE: String(settings.retryDelayScale), ALARM_URL: settings.alarmUrl }));
    // An address that SES rejects stops its mailbox.
    const sesAccess = email
      .sendAccess()
      .and(this.reports.sendAccess())
      .and(new ResourceAccess({ API_URL: apiUrl }));
    // The alarms of a summary, and the usage of the daily limits (docs/decisions/deliveries.md#summaries).
    const summarized = deliveries.access('Query').and(accounts.access('BatchGetItem'));
    // Webhook credentials are created when they are first needed.
    const writesAccount = common.and(accounts.access('UpdateItem'));
    const counted = writesAccount.and(tenantLimitsOf(settings));
    return {
      email: counted.and(summarized).and(sesAccess),
      technicalContactsEmail: counted.and(summarized).and(sesAccess),
      webhook: writesAccount.and(egressOf(settings)).and(new ResourceAccess({ HEARTBEAT_URL: settings.heartbeatUrl })),
      sms: counted.and(summarized).and(smsAccess(settings)),
      incidentpager: common.and(egressOf(settings)).and(new ResourceAccess({ PAGER_ENDPOINT: settings.pagerEndpoint })),
      incidentrouter: writesAccount.and(new ResourceAccess({ ROUTER_ENDPOINT: settings.routerEndpoint })),
      atomfeed: common.and(new ResourceAccess({ FEED_ENDPOINT: settings.feedEndpoint })),
      managed: counted.and(managedTopic.publishAccess()),
    } satisfies {
      [Type in NotificationTypeId]: ResourceAccess<
        Omit<EnvironmentOf<`send-${Type}`>, 'DEAD_LETTER_QUEUE' | 'RETRY_QUEUE' | 'SENDER_QUEUES'>
      >;
    };
  }

  /** Grants permission to invoke the senders of all types, which run tests. */
  testAccess(): ResourceAccess<{ SENDER_FUNCTIONS: string }> {
    const names = this.senders.map(({ type, lambda }) => [type, lambda.functionName]);
    return new ResourceAccess(
      { SENDER_FUNCTIONS: Stack.of(this).toJsonString(Object.fromEntries(names)) },
      ...this.senders.map(({ lambda }) => allow(['lambda:InvokeFunction'], [lambda.functionArn])),
    );
  }
}
