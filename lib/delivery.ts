import { ArnFormat, Stack } from 'aws-cdk-lib';
import { AccountPrincipal, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import {
  type NotificationTypeId,
  notificationTypeIds,
  notificationTypes,
} from '../shared/contracts/notification-types.ts';
import { type EnvironmentOf, senderName } from '../shared/environment.ts';
import type { CrashedQueue } from './crashed-queue.ts';
import type { Email } from './email.ts';
import type { ManagedTopic } from './managed-topic.ts';
import type { Network } from './network.ts';
import { ResourceAccess } from './resource-access.ts';
import { RETRY_BATCH_SIZE, SenderQueue } from './sender-queue.ts';
import { type FunctionDefaults, ServiceFunction } from './service-function.ts';
import type { Storage } from './storage.ts';
import { WorkQueueWithDeadLetters } from './work-queue.ts';

/** A value for every notification type. */
class PerType<Value> {
  readonly #values: ReadonlyMap<NotificationTypeId, Value>;

  constructor(create: (type: NotificationTypeId) => Value) {
    this.#values = new Map(notificationTypeIds.map((type) => [type, create(type)]));
  }

  of(type: NotificationTypeId): Value {
    const value = this.#values.get(type);
    if (value === undefined) throw new Error(`No value for type ${type}.`);
    return value;
  }

  all(): Value[] {
    return [...this.#values.values()];
  }

  /** Returns a JSON object of strings by type, for an environment variable. */
  json(scope: Construct, format: (value: Value) => string): string {
    return Stack.of(scope).toJsonString(
      Object.fromEntries([...this.#values].map(([type, value]) => [type, format(value)])),
    );
  }
}

/** The resources that senders send through. */
export type SendingResources = {
  email: Email;
  managedTopic: ManagedTopic;
  /** The base URL of the API, for links in notices. */
  apiUrl: string;
  /** The VPC of the types that send by HTTP; undefined if they run outside a VPC. */
  network: Network | undefined;
};

/** Whether a type sends by HTTP to URLs from notifications or settings. The others send through AWS services only. */
export const sendsByHttp = {
  email: false,
  technicalContactsEmail: false,
  webhook: true,
  sms: false,
  incidentpager: true,
  incidentrouter: true,
  atomfeed: true,
  managed: false,
} satisfies { [Type in NotificationTypeId]: boolean };

/** The memory of a sender. It mostly waits, which costs in proportion to its memory: docs/benchmarks.md#memory. */
const SENDER_MEMORY_MB = 256;

/** The types that deliver notices: to technical contacts and to operators. */
const NOTICE_TYPES: readonly NotificationTypeId[] = ['technicalContactsEmail', 'managed'];

/** The environment variables of delivery reports. */
type ReportVariable = Exclude<keyof EnvironmentOf<'record-email-events'>, 'EMAIL_EVENTS_QUEUE'>;

const flag = (value: boolean): 'true' | 'false' => (value ? 'true' : 'false');

/** Returns the access to count escalations. The daily limits of messages use the same permission. */
const escalationAccess = ({ settings }: FunctionDefaults, { accounts }: Storage) =>
  accounts.access('UpdateItem').and(new ResourceAccess({ ESCALATE_UNREACHED: settings.escalateUnreached }));

/** The queues and the sender function of a notification type. */
export type Sender = { type: NotificationTypeId; queue: SenderQueue; lambda: LambdaFunction };

/**
 * The delivery pipeline: the queue of alarm events, the dispatch function, and queues and a sender for each
 * notification type.
 */
export class Delivery extends Construct {
  readonly alarmEvents: WorkQueueWithDeadLetters;
  readonly dispatch: LambdaFunction;
  readonly crashedQueue: CrashedQueue;
  readonly senders: readonly Sender[];
  readonly #queues: PerType<SenderQueue>;
  readonly #senderFunctions: PerType<ServiceFunction<`send-${NotificationTypeId}`>>;
  readonly #reportAccess: ResourceAccess<Omit<EnvironmentOf<'record-email-events'>, 'EMAIL_EVENTS_QUEUE'>>;

  constructor(
    scope: Construct,
    id: string,
    defaults: FunctionDefaults,
    storage: Storage,
    resources: SendingResources,
    crashedQueue: CrashedQueue,
  ) {
    super(scope, id);
    this.crashedQueue = crashedQueue;
    const { settings } = defaults;
    const queues = new PerType((type) => new SenderQueue(this, type, crashedQueue, settings));
    this.#queues = queues;

    this.alarmEvents = new WorkQueueWithDeadLetters(this, 'AlarmEvents', crashedQueue);
    for (const account of settings.producerAccounts) {
      this.alarmEvents.queue.grantSendMessages(new AccountPrincipal(account));
    }
    this.dispatch = this.#createDispatch(defaults, storage, this.#sendAccess(notificationTypeIds));
    const reportAccess = this.#createReportAccess(defaults, storage, resources);
    this.#reportAccess = reportAccess.and(this.#sendAccess(NOTICE_TYPES));

    const senderAccess = this.#senderAccess(defaults, storage, resources);
    this.#senderFunctions = new PerType((type) => {
      // A sender sends to its own queue only messages waiting for an incident lock or a circuit, and notices. Retries
      // have a separate queue.
      const sendsToOwnQueue = notificationTypes[type].hasIncidents || sendsByHttp[type] || NOTICE_TYPES.includes(type);
      const recipients = notificationTypeIds.filter((id) => id !== type || sendsToOwnQueue);
      const access = senderAccess[type]
        .and(reportAccess)
        .and(this.#sendAccess(recipients))
        .and(queues.of(type).consumerAccess());
      const sender = new ServiceFunction(this, senderName(type), defaults, access, {
        sendsToItself: true,
        memoryMb: settings.memoryMbByType[type],
        defaultMemoryMb: SENDER_MEMORY_MB,
        // In a batch of retries, every message may need a slow DNS lookup.
        maxLookups: sendsByHttp[type] ? RETRY_BATCH_SIZE : undefined,
        network: sendsByHttp[type] ? resources.network : undefined,
      });
      queues
        .of(type)
        .addConsumer(
          sender.lambda,
          settings.developmentStage
            ? undefined
            : (settings.senderConcurrencyByType[type] ?? settings.senderConcurrency),
        );
      return sender;
    });
    this.senders = notificationTypeIds.map((type) => ({
      type,
      queue: queues.of(type),
      lambda: this.#senderFunctions.of(type).lambda,
    }));
  }

  /** Grants permission to send to the queues for first attempts of these types. */
  #sendAccess(types: readonly NotificationTypeId[]): ResourceAccess<{ SENDER_QUEUES: string }> {
    const queues = this.#queues;
    return new ResourceAccess({ SENDER_QUEUES: queues.json(this, ({ queue }) => queue.queueUrl) }, [
      new PolicyStatement({
        actions: ['sqs:SendMessage'],
        resources: types.map((type) => queues.of(type).queue.queueArn),
      }),
    ]);
  }

  /** Creates the dispatch function, which consumes the queue of alarm events. */
  #createDispatch(
    defaults: FunctionDefaults,
    storage: Storage,
    sendAccess: ResourceAccess<{ SENDER_QUEUES: string }>,
  ): LambdaFunction {
    const dispatch = new ServiceFunction(
      this,
      'dispatch-alarm-events',
      defaults,
      storage.notifications
        .access('BatchGetItem')
        // The list of the destinations of an event (docs/decisions/notices.md#nobody-reached).
        .and(storage.deliveries.access('PutItem'))
        .and(escalationAccess(defaults, storage))
        .and(sendAccess)
        .and(this.alarmEvents.consumerAccess())
        .and(
          new ResourceAccess({ ALARM_EVENTS_QUEUE: this.alarmEvents.queue.queueUrl }, [
            // The rest of a large plan is sent as a new message (docs/decisions/events.md#dispatch-in-passes).
            new PolicyStatement({ actions: ['sqs:SendMessage'], resources: [this.alarmEvents.queue.queueArn] }),
          ]),
        ),
      { sendsToItself: true },
    );
    const { developmentStage, dispatchConcurrency } = defaults.settings;
    this.alarmEvents.addConsumer(dispatch.lambda, developmentStage ? undefined : dispatchConcurrency);
    return dispatch.lambda;
  }

  /** Returns the access of each type's sender, except for queues. The compiler requires an entry for every type. */
  #senderAccess(
    { settings }: FunctionDefaults,
    { accounts, deliveries }: Storage,
    { email, managedTopic }: SendingResources,
  ) {
    const common = deliveries.access('PutItem', 'BatchWriteItem');
    const locks = deliveries.access('UpdateItem');
    // Records of types that can bounce change by UpdateItem, never in batches (docs/decisions/formats.md#bounces).
    const bounceable = deliveries.access('PutItem', 'UpdateItem');
    const credentials = accounts.access('GetItem');
    const egressAllow = new ResourceAccess({ EGRESS_ALLOW: settings.egressAllow.join(',') });
    const dailyLimit = (limit: number) => new ResourceAccess({ DAILY_LIMIT: String(limit) });
    return {
      email: bounceable.and(email.sendAccess()).and(dailyLimit(settings.emailsPerTenantPerDay)),
      technicalContactsEmail: bounceable
        .and(email.sendAccess())
        .and(accounts.access('GetItem'))
        .and(dailyLimit(settings.emailsPerTenantPerDay)),
      webhook: common.and(credentials).and(egressAllow),
      sms: common.and(this.#smsAccess(settings)).and(dailyLimit(settings.smsPerTenantPerDay)),
      incidentpager: common
        .and(locks)
        .and(egressAllow)
        .and(new ResourceAccess({ PAGER_ENDPOINT: settings.pagerEndpoint })),
      incidentrouter: common
        .and(locks)
        .and(credentials)
        .and(new ResourceAccess({ ROUTER_ENDPOINT: settings.routerEndpoint })),
      atomfeed: common.and(
        new ResourceAccess(settings.feedEndpoint === undefined ? {} : { FEED_ENDPOINT: settings.feedEndpoint }),
      ),
      managed: common.and(managedTopic.publishAccess()).and(dailyLimit(settings.managedPerTenantPerDay)),
    } satisfies {
      [Type in NotificationTypeId]: ResourceAccess<
        Omit<EnvironmentOf<`send-${Type}`>, ReportVariable | 'DEAD_LETTER_QUEUE' | 'RETRY_QUEUE'>
      >;
    };
  }

  /** Returns the access to report deliveries that do not arrive, except to the queues of notices. */
  #createReportAccess(defaults: FunctionDefaults, storage: Storage, { apiUrl }: SendingResources) {
    const { settings } = defaults;
    return storage.notifications
      .access('BatchGetItem')
      .and(storage.deliveries.access('GetItem', 'BatchGetItem'))
      .and(escalationAccess(defaults, storage))
      .and(
        new ResourceAccess({
          API_URL: apiUrl,
          RETRY_DELAY_SCALE: String(settings.retryDelayScale),
          DEAD_LETTER_EMAIL: flag(settings.deadLetterEmail),
          FAILING_NOTICES: flag(settings.failingNotices),
        }),
      );
  }

  /** Grants permission to report deliveries that do not arrive (docs/decisions/notices.md#notices). */
  reportAccess(): ResourceAccess<Omit<EnvironmentOf<'record-email-events'>, 'EMAIL_EVENTS_QUEUE'>> {
    return this.#reportAccess;
  }

  /**
   * Returns the access to send SMS. IAM has no resource type for phone numbers, so the statement allows everything
   * except topics.
   */
  #smsAccess({ smsSenderId, smsOriginationNumber, smsMaxPriceUsd, smsCountries }: FunctionDefaults['settings']) {
    const anyTopic = Stack.of(this).formatArn({
      service: 'sns',
      region: '*',
      account: '*',
      resource: '*',
      arnFormat: ArnFormat.NO_RESOURCE_NAME,
    });
    return new ResourceAccess(
      {
        SMS_COUNTRIES: smsCountries.join(','),
        ...(smsSenderId !== undefined && { SMS_SENDER_ID: smsSenderId }),
        ...(smsOriginationNumber !== undefined && { SMS_ORIGINATION_NUMBER: smsOriginationNumber }),
        ...(smsMaxPriceUsd !== undefined && { SMS_MAX_PRICE_USD: String(smsMaxPriceUsd) }),
      },
      [new PolicyStatement({ actions: ['sns:Publish'], notResources: [anyTopic] })],
    );
  }

  /** Grants permission to send messages to the senders of all types, for redeliveries. */
  redeliveryAccess(): ResourceAccess<{ SENDER_QUEUES: string }> {
    return this.#sendAccess(notificationTypeIds);
  }

  /** Grants permission to invoke the senders of all types, which run tests. */
  testAccess(): ResourceAccess<{ SENDER_FUNCTIONS: string }> {
    return this.#senderFunctions
      .all()
      .map((sender) => sender.invokeAccess())
      .reduce<ResourceAccess<{ SENDER_FUNCTIONS: string }>>(
        (sum, access) => sum.and(access),
        new ResourceAccess({ SENDER_FUNCTIONS: this.#senderFunctions.json(this, ({ lambda }) => lambda.functionName) }),
      );
  }
}
