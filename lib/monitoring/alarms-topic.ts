import { Duration, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Key } from 'aws-cdk-lib/aws-kms';
import { type ITopic, Topic } from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import { Construct } from 'constructs';

/**
 * Creates the SNS topic of the stack's alarms. It uses a customer managed key, because CloudWatch cannot publish to a
 * topic encrypted with the AWS managed key for SNS and reports no error:
 * https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/Notify_Users_Alarm_Changes.html
 *
 * @param email an address to subscribe, which must confirm the subscription
 */
export const createAlarmsTopic = (parent: Construct, id: string, email: string | undefined): ITopic => {
  const scope = new Construct(parent, id);
  const cloudWatch = new ServicePrincipal('cloudwatch.amazonaws.com', {
    conditions: { StringEquals: { 'aws:SourceAccount': Stack.of(scope).account } },
  });
  const masterKey = new Key(scope, 'Key', {
    description: 'Encrypts the alarm topic of Monitoring Notifications',
    enableKeyRotation: true,
    // The maximum. Each of the first two rotations adds $1 a month, and no stored data depends on an earlier version.
    rotationPeriod: Duration.days(2560),
    // SNS stores no data encrypted with the key after delivery.
    removalPolicy: RemovalPolicy.DESTROY,
  });
  const topic = new Topic(scope, 'Topic', { masterKey, enforceSSL: true });
  // Also allows it to use the key.
  topic.grants.publish(cloudWatch);
  if (email !== undefined) topic.addSubscription(new EmailSubscription(email));
  return topic;
};
