import { RemovalPolicy, Stack } from 'aws-cdk-lib';
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Key } from 'aws-cdk-lib/aws-kms';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import { Construct } from 'constructs';

/**
 * The topic that the stack's alarms go to. Its key is our own, since CloudWatch may not use the one that AWS keeps for SNS: an
 * alarm to a topic with that key is lost without a word.
 */
export class AlarmsTopic extends Construct {
  readonly topic: Topic;

  /** @param email an address to subscribe; its owner must confirm */
  constructor(scope: Construct, id: string, email: string | undefined) {
    super(scope, id);
    const cloudWatch = new ServicePrincipal('cloudwatch.amazonaws.com', {
      conditions: { StringEquals: { 'aws:SourceAccount': Stack.of(this).account } },
    });
    const key = new Key(this, 'Key', {
      description: 'Alarms of Monitoring Notifications',
      enableKeyRotation: true,
      // Nothing is kept that was encrypted with it.
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
