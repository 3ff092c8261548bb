import { Alias } from 'aws-cdk-lib/aws-kms';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { Construct } from 'constructs';
import { allow, ResourceAccess } from './resource-access.ts';

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

  /** Grants permission to publish to the topic. */
  publishAccess(): ResourceAccess<{ MANAGED_TOPIC: string }> {
    const { topicArn } = this.topic;
    return new ResourceAccess({ MANAGED_TOPIC: topicArn }, allow(['sns:Publish'], [topicArn]));
  }
}
