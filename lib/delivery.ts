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

/** One value for each notification type, none missing. */
class PerType<Value> {
  readonly #values: ReadonlyMap<NotificationTypeId, Value>;

  constructor(make: (type: NotificationTypeId) => Value) {
    this.#values = new Map(notificationTypeIds.map((type) => [type, make(type)]));
  }

  of(type: NotificationTypeId): Value {
    const value = this.#values.get(type);
    if (value === undefined) throw new Error(`There is nothing for type ${type}.`);
    return value;
  }

  all(): Value[] {
    return [...this.#values.values()];
  }

  /** The same as a JSON object, for one environment variable. */
  json(scope: Construct, text: (value: Value) => string): string {
    return Stack.of(scope).toJsonString(
      Object.fromEntries([...this.#values].map(([type, value]) => [type, text(value)])),
    );
  }
}

/** The AWS services by which some types leave the stack, and the network from which the others do, unless it is Lambda's. */
export type Outlets = { mail: Email; managed: ManagedTopic; network: Network | undefined };

/** Whether a type's sender dials URLs that users or operators have set, or AWS alone. */
export const dialsUrls = {
  email: false,
  technicalContactsEmail: false,
  webhook: true,
  sms: false,
  incidentpager: true,
  incidentrouter: true,
  atomfeed: true,
  managed: false,
} satisfies { [Type in NotificationTypeId]: boolean };

/** What a type's deliveries go through. */
export type DeliveryLine = { type: NotificationTypeId; queue: SenderQueue; sender: LambdaFunction };

/** The way of an alarm event: the events' queue, the dispatch, and queues and a sender for each notification type. */
export class Delivery extends Construct {
  readonly alarmEvents: WorkQueueWithDeadLetters;
  readonly dispatch: LambdaFunction;
  /** Where SQS moves messages that were received too often, from every work queue of the stack. */
  readonly crashed: CrashedQueue;
  /** The queues and the sender of each type. */
  readonly lines: readonly DeliveryLine[];
  readonly #senders: PerType<ServiceFunction<`send-${NotificationTypeId}`>>;

  constructor(
    scope: Construct,
    id: string,
    defaults: FunctionDefaults,
    storage: Storage,
    outlets: Outlets,
    crashed: CrashedQueue,
  ) {
    super(scope, id);
    this.crashed = crashed;
    const { settings } = defaults;
    const queues = new PerType((type) => new SenderQueue(this, type, crashed, settings));
    const sendingTo = (types: readonly NotificationTypeId[]) =>
      new ResourceAccess({ SENDER_QUEUES: queues.json(this, ({ queue }) => queue.queueUrl) }, [
        new PolicyStatement({
          actions: ['sqs:SendMessage'],
          resources: types.map((type) => queues.of(type).queue.queueArn),
        }),
      ]);

    this.alarmEvents = new WorkQueueWithDeadLetters(this, 'AlarmEvents', crashed);
    for (const account of settings.producerAccounts) {
      this.alarmEvents.queue.grantSendMessages(new AccountPrincipal(account));
    }
    const dispatch = new ServiceFunction(
      this,
      'dispatch-alarm-events',
      defaults,
      storage.notifications
        .access('BatchGetItem')
        .and(sendingTo(notificationTypeIds))
        .and(this.alarmEvents.settling())
        .and(
          new ResourceAccess({ ALARM_EVENTS_QUEUE: this.alarmEvents.queue.queueUrl }, [
            // A large plan goes on in a message of its own.
            new PolicyStatement({ actions: ['sqs:SendMessage'], resources: [this.alarmEvents.queue.queueArn] }),
          ]),
        ),
      { sendsToItself: true },
    );
    this.dispatch = dispatch.lambda;
    this.alarmEvents.feed(dispatch.lambda, settings.dispatchConcurrency);

    const senderAccess = this.#senderAccess(defaults, storage, outlets);
    this.#senders = new PerType((type) => {
      // To its own queue it sends only what waits for the lock of an incident: retries have a queue of their own.
      const others = notificationTypeIds.filter((one) => one !== type || notificationTypes[one].hasIncidents);
      const access = senderAccess[type].and(sendingTo(others)).and(queues.of(type).settling());
      const sender = new ServiceFunction(this, senderName(type), defaults, access, {
        sendsToItself: true,
        memory: settings.memoryMbByType[type],
        // Each of a batch of retries may be for a name that is slow to look up.
        lookups: dialsUrls[type] ? RETRY_BATCH_SIZE : undefined,
        network: dialsUrls[type] ? outlets.network : undefined,
      });
      queues.of(type).feed(sender.lambda, settings.senderConcurrencyByType[type] ?? settings.senderConcurrency);
      return sender;
    });
    this.lines = notificationTypeIds.map((type) => ({
      type,
      queue: queues.of(type),
      sender: this.#senders.of(type).lambda,
    }));
  }

  /** What each type's sender needs besides the queues: a type that is missing here does not compile. */
  #senderAccess(
    { settings }: FunctionDefaults,
    { notifications, accounts, deliveries }: Storage,
    { mail, managed }: Outlets,
  ) {
    const common = notifications
      .access('BatchGetItem')
      .and(deliveries.access('GetItem', 'PutItem', 'BatchWriteItem'))
      .and(
        new ResourceAccess({
          RETRY_DELAY_SCALE: String(settings.retryDelayScale),
          DEAD_LETTER_EMAIL: settings.deadLetterEmail ? 'true' : 'false',
        } as const),
      );
    const locks = deliveries.access('UpdateItem');
    const credentials = accounts.access('GetItem', 'UpdateItem');
    const guarded = new ResourceAccess({ EGRESS_ALLOW: settings.egressAllow.join(',') });
    const limitedTo = (limit: number) =>
      accounts.access('UpdateItem').and(new ResourceAccess({ DAILY_LIMIT: String(limit) }));
    return {
      email: common.and(mail.sending()).and(limitedTo(settings.emailsPerTenantPerDay)),
      technicalContactsEmail: common
        .and(mail.sending())
        .and(accounts.access('GetItem'))
        .and(limitedTo(settings.emailsPerTenantPerDay)),
      webhook: common.and(credentials).and(guarded),
      sms: common.and(this.#texting(settings)).and(limitedTo(settings.smsPerTenantPerDay)),
      incidentpager: common
        .and(locks)
        .and(guarded)
        .and(new ResourceAccess({ PAGER_ENDPOINT: settings.pagerEndpoint })),
      incidentrouter: common
        .and(locks)
        .and(credentials)
        .and(new ResourceAccess({ ROUTER_ENDPOINT: settings.routerEndpoint })),
      atomfeed: common.and(
        new ResourceAccess(settings.feedEndpoint === undefined ? {} : { FEED_ENDPOINT: settings.feedEndpoint }),
      ),
      managed: common.and(managed.publishing()).and(limitedTo(settings.managedPerTenantPerDay)),
    } satisfies {
      [Type in NotificationTypeId]: ResourceAccess<
        Omit<EnvironmentOf<`send-${Type}`>, 'SENDER_QUEUES' | 'DEAD_LETTER_QUEUE' | 'RETRY_QUEUE'>
      >;
    };
  }

  /** SNS has no resource for a phone number: the statement covers everything but topics. */
  #texting({ smsSenderId, smsOriginationNumber, smsMaxPriceUsd, smsCountries }: FunctionDefaults['settings']) {
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

  /** Lets a function run tests by the senders of all types. */
  testing(): ResourceAccess<{ SENDER_FUNCTIONS: string }> {
    return this.#senders
      .all()
      .map((sender) => sender.invocation())
      .reduce<ResourceAccess<{ SENDER_FUNCTIONS: string }>>(
        (sum, access) => sum.and(access),
        new ResourceAccess({ SENDER_FUNCTIONS: this.#senders.json(this, ({ lambda }) => lambda.functionName) }),
      );
  }
}
