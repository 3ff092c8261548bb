import { Duration, Tags } from 'aws-cdk-lib';
import { Schedule, ScheduleExpression, ScheduleTargetInput } from 'aws-cdk-lib/aws-scheduler';
import { Universal } from 'aws-cdk-lib/aws-scheduler-targets';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { createScheduleRole } from '../heartbeat.ts';
import { allow } from '../resource-access.ts';

/**
 * Keeps the CloudWatch metrics of a queue active by one API call an hour. SQS stops reporting metrics after six hours
 * without a call, and resumes up to 15 minutes after the next one, which would delay the alarm on a new message.
 * EventBridge Scheduler supports no read-only calls, so the schedule sets a tag that the queue already has.
 */
export const keepMetricsActive = (parent: Construct, id: string, queue: Queue): void => {
  const scope = new Construct(parent, id);
  const role = createScheduleRole(scope);
  const tag = 'MetricsKeptActive';
  // The template sets the same tag, so that CloudFormation detects no drift.
  Tags.of(queue).add(tag, 'true');
  const schedule = new Schedule(scope, 'Schedule', {
    description: 'Keeps the CloudWatch metrics of a queue active',
    schedule: ScheduleExpression.rate(Duration.hours(1)),
    target: new Universal({
      service: 'sqs',
      action: 'tagQueue',
      role,
      input: ScheduleTargetInput.fromObject({ QueueUrl: queue.queueUrl, Tags: { [tag]: 'true' } }),
      policyStatements: [allow(['sqs:TagQueue'], [queue.queueArn])],
    }),
  });
  schedule.node.addDependency(role);
};
