import { Stack } from 'aws-cdk-lib';
import { ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { type ITopic, Topic } from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import { Construct } from 'constructs';

/**
 * Creates the SNS topic of the stack's alarms.
 *
 * @param email an address to subscribe, which must confirm the subscription
 */
export const createAlarmsTopic = (
  parent: Construct,
  id: string,
  masterKey: IKey,
  email: string | undefined,
): ITopic => {
  const scope = new Construct(parent, id);
  const cloudWatch = new ServicePrincipal('cloudwatch.amazonaws.com', {
    conditions: { StringEquals: { 'aws:SourceAccount': Stack.of(scope).account } },
  });
  const topic = new Topic(scope, 'Topic', { masterKey, enforceSSL: true });
  // Also allows it to use the key.
  topic.grants.publish(cloudWatch);
  if (email !== undefined) topic.addSubscription(new EmailSubscription(email));
  return topic;
};
