import { Duration, Tags } from 'aws-cdk-lib';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { Schedule, ScheduleExpression, ScheduleTargetInput } from 'aws-cdk-lib/aws-scheduler';
import { Universal } from 'aws-cdk-lib/aws-scheduler-targets';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';

/** The tag that is set every hour; the template sets it too, so that nothing drifts. */
const tag = { name: 'MetricsKeptActive', value: 'true' };

/**
 * Keeps the metrics of a queue active by one call an hour. SQS reports no metrics of a queue that no action has accessed for six
 * hours, and starts up to 15 minutes late when a message arrives then: too late for an alarm on that message. EventBridge
 * Scheduler makes no calls that only read, so this one sets a tag that the queue has already.
 */
export class ActiveQueue extends Construct {
  constructor(scope: Construct, id: string, queue: Queue) {
    super(scope, id);
    Tags.of(queue).add(tag.name, tag.value);
    new Schedule(this, 'Schedule', {
      description: 'Keeps the metrics of a queue active',
      schedule: ScheduleExpression.rate(Duration.hours(1)),
      target: new Universal({
        service: 'sqs',
        action: 'tagQueue',
        input: ScheduleTargetInput.fromObject({ QueueUrl: queue.queueUrl, Tags: { [tag.name]: tag.value } }),
        policyStatements: [new PolicyStatement({ actions: ['sqs:TagQueue'], resources: [queue.queueArn] })],
      }),
    });
  }
}
