import { Duration, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { AccountPrincipal, AccountRootPrincipal, PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Alias, type IKey, Key } from 'aws-cdk-lib/aws-kms';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import { Construct } from 'constructs';

/** A topic to which only the service publishes. */
const createServiceTopic = (scope: Construct, id: string): Topic =>
  new Topic(scope, id, { masterKey: Alias.fromAliasName(scope, `${id}Key`, 'alias/aws/sns'), enforceSSL: true });

/** The topic of the type `managed`, to which operators subscribe (docs/decisions/api.md#the-managed-type). */
export const createManagedTopic = (parent: Construct): Topic =>
  createServiceTopic(new Construct(parent, 'ManagedTopic'), 'Topic');

/** The account of the stack and those of producers may subscribe to it (docs/producers.md#delivery-outcomes). */
export const createOutcomesTopic = (scope: Construct, producerAccounts: readonly string[]): Topic => {
  const topic = createServiceTopic(scope, 'Outcomes');
  topic.addToResourcePolicy(
    new PolicyStatement({
      sid: 'Subscribers',
      actions: ['sns:Subscribe'],
      principals: [new AccountRootPrincipal(), ...producerAccounts.map((account) => new AccountPrincipal(account))],
      resources: [topic.topicArn],
    }),
  );
  return topic;
};

/**
 * An AWS service, only on behalf of the account of the stack. For SES, AWS documents no other condition:
 * https://docs.aws.amazon.com/ses/latest/dg/configure-sns-notifications.html
 */
export const servicePrincipal = (scope: Construct, name: 'cloudwatch' | 'ses'): ServicePrincipal =>
  new ServicePrincipal(`${name}.amazonaws.com`, {
    conditions: { StringEquals: { 'aws:SourceAccount': Stack.of(scope).account } },
  });

/** @param email an address to subscribe, which must confirm the subscription */
export const createAlarmsTopic = (parent: Construct, masterKey: IKey, email: string | undefined): Topic => {
  const topic = new Topic(new Construct(parent, 'Alarms'), 'Topic', { masterKey, enforceSSL: true });
  // Also allows it to use the key.
  topic.grants.publish(servicePrincipal(parent, 'cloudwatch'));
  if (email !== undefined) topic.addSubscription(new EmailSubscription(email));
  return topic;
};

/**
 * The key of the topics to which AWS services publish: CloudWatch and SES cannot publish to a topic encrypted with the AWS
 * managed key for SNS, and CloudWatch reports no error:
 * https://docs.aws.amazon.com/sns/latest/dg/sns-key-management.html#compatibility-with-aws-services
 */
export const createTopicKey = (parent: Construct): Key =>
  new Key(new Construct(parent, 'TopicKey'), 'Key', {
    description: 'Encrypts the topics of Monitoring Notifications for alarms and email events',
    enableKeyRotation: true,
    // The maximum. Each of the first two rotations adds $1 a month, and no stored data depends on an earlier version.
    rotationPeriod: Duration.days(2560),
    // SNS stores no data encrypted with the key after delivery.
    removalPolicy: RemovalPolicy.DESTROY,
  });
