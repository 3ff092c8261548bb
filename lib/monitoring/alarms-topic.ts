import { Duration, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Key } from 'aws-cdk-lib/aws-kms';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import { Construct } from 'constructs';

/**
 * The SNS topic of the stack's alarms. It uses a customer managed key, because CloudWatch cannot publish to a topic
 * encrypted with the AWS managed key for SNS and reports no error:
 * https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/Notify_Users_Alarm_Changes.html
 */
export class AlarmsTopic extends Construct {
  readonly topic: Topic;

  /** @param email an address to subscribe, which must confirm the subscription */
  constructor(scope: Construct, id: string, email: string | undefined) {
    super(scope, id);
    const cloudWatch = new ServicePrincipal('cloudwatch.amazonaws.com', {
      conditions: { StringEquals: { 'aws:SourceAccount': Stack.of(this).account } },
    });
    const key = new Key(this, 'Key', {
      description: 'Encrypts the alarm topic of Monitoring Notifications',
      enableKeyRotation: true,
      // The maximum. Each of the first two rotations adds $1 a month, and no stored data depends on an earlier version.
      rotationPeriod: Duration.days(2560),
      // SNS stores no data encrypted with the key after delivery.
      removalPolicy: RemovalPolicy.DESTROY,
    });
    key.addToResourcePolicy(
      new PolicyStatement({
        principals: [cloudWatch],
        actions: ['kms:Decrypt', 'kms:GenerateDataKey*'],
        resources: ['*'],
      }),
    );
    this.topic = new Topic(this, 'Topic', { masterKey: key, enforceSSL: true });
    this.topic.addToResourcePolicy(
      new PolicyStatement({ principals: [cloudWatch], actions: ['sns:Publish'], resources: [this.topic.topicArn] }),
    );
    if (email !== undefined) this.topic.addSubscription(new EmailSubscription(email));
  }
}
