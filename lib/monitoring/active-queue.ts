import { Duration, Tags } from 'aws-cdk-lib';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { Schedule, ScheduleExpression, ScheduleTargetInput } from 'aws-cdk-lib/aws-scheduler';
import { Universal } from 'aws-cdk-lib/aws-scheduler-targets';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';

/** The template sets the same tag, so that CloudFormation detects no drift. */
const tag = { name: 'MetricsKeptActive', value: 'true' };

/**
 * Keeps the CloudWatch metrics of a queue active by one API call an hour. SQS stops reporting metrics after six hours
 * without a call, and resumes up to 15 minutes after the next one, which would delay the alarm on a new message.
 * EventBridge Scheduler supports no read-only calls, so the schedule sets a tag that the queue already has.
 */
export class ActiveQueue extends Construct {
  constructor(scope: Construct, id: string, queue: Queue) {
    super(scope, id);
    Tags.of(queue).add(tag.name, tag.value);
    new Schedule(this, 'Schedule', {
      description: 'Keeps the CloudWatch metrics of a queue active',
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
