import { Duration, RemovalPolicy } from 'aws-cdk-lib';
import type { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { Alias, Key } from 'aws-cdk-lib/aws-kms';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { Construct } from 'constructs';
import { allow } from './resource-access.ts';

/**
 * The SNS topic for notifications of type `managed`, to which operators subscribe
 * (docs/decisions/api.md#the-managed-type).
 */
export class ManagedTopic extends Construct {
  readonly topic: Topic;

  constructor(scope: Construct, id: string) {
    super(scope, id);
    this.topic = new Topic(this, 'Topic', {
      masterKey: Alias.fromAliasName(this, 'Key', 'alias/aws/sns'),
      enforceSSL: true,
    });
  }

  /** Allows to publish to the topic. */
  allowPublish(): PolicyStatement {
    return allow(['sns:Publish'], [this.topic.topicArn]);
  }
}

/**
 * Creates the key of the topics to which AWS services publish: CloudWatch and SES cannot publish to a topic encrypted with
 * the AWS managed key for SNS, and CloudWatch reports no error:
 * https://docs.aws.amazon.com/sns/latest/dg/sns-key-management.html#compatibility-with-aws-services
 */
export const createTopicKey = (parent: Construct, id: string): Key =>
  new Key(new Construct(parent, id), 'Key', {
    description: 'Encrypts the topics of Monitoring Notifications for alarms and email events',
    enableKeyRotation: true,
    // The maximum. Each of the first two rotations adds $1 a month, and no stored data depends on an earlier version.
    rotationPeriod: Duration.days(2560),
    // SNS stores no data encrypted with the key after delivery.
    removalPolicy: RemovalPolicy.DESTROY,
  });
