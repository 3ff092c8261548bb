import { Duration, Stack, Tags } from 'aws-cdk-lib';
import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { ContextAttribute, Schedule, ScheduleExpression, ScheduleTargetInput } from 'aws-cdk-lib/aws-scheduler';
import { Universal, type UniversalTargetProps } from 'aws-cdk-lib/aws-scheduler-targets';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { HEARTBEAT_TENANT } from '../shared/contracts/alarm-event.ts';
import { heartbeatEvent } from '../shared/domain/heartbeat.ts';
import { allow } from './service-function.ts';

const permissions = { sendMessage: 'sqs:SendMessage', tagQueue: 'sqs:TagQueue' };

type QueueCall = Pick<UniversalTargetProps, 'retryAttempts' | 'maxEventAge'> & {
  description: string;
  every: Duration;
  action: keyof typeof permissions;
  input: Readonly<Record<string, unknown>>;
};

/** Makes a call for a queue periodically, with a role of its own. */
const scheduleCall = (
  scope: Construct,
  { queueUrl, queueArn }: Queue,
  { description, every, action, input, ...options }: QueueCall,
): { schedule: Schedule; role: Role } => {
  const stack = Stack.of(scope);
  const group = stack.formatArn({ service: 'scheduler', resource: 'schedule-group', resourceName: 'default' });
  const role = new Role(scope, 'Role', {
    assumedBy: new ServicePrincipal('scheduler.amazonaws.com', {
      conditions: { StringEquals: { 'aws:SourceAccount': stack.account, 'aws:SourceArn': group } },
    }),
  });
  const schedule = new Schedule(scope, 'Schedule', {
    description,
    schedule: ScheduleExpression.rate(every),
    target: new Universal({
      service: 'sqs',
      action,
      role,
      input: ScheduleTargetInput.fromObject({ QueueUrl: queueUrl, ...input }),
      policyStatements: [allow([permissions[action]], [queueArn])],
      ...options,
    }),
  });
  // The policy of the role is a resource of its own.
  schedule.node.addDependency(role);
  return { schedule, role };
};

/**
 * Puts an alarm event on the queue of alarm events every five minutes (setting `heartbeatUrl`,
 * docs/decisions/monitoring.md#heartbeat). It calls `SendMessage`, because the queue targets of EventBridge Scheduler
 * support no message group on a standard queue.
 * @returns also the ID of the role: SQS reports it as the sender, so that no producer can send heartbeats
 */
export const createHeartbeat = (parent: Construct, queue: Queue): { schedule: Schedule; roleId: string } => {
  const event = heartbeatEvent(ContextAttribute.executionId, ContextAttribute.scheduledTime);
  const { schedule, role } = scheduleCall(new Construct(parent, 'Heartbeat'), queue, {
    description: 'Sends a heartbeat through the service',
    every: Duration.minutes(5),
    action: 'sendMessage',
    input: { MessageGroupId: HEARTBEAT_TENANT, MessageBody: JSON.stringify(event) },
    // A late heartbeat is worth nothing.
    retryAttempts: 0,
    maxEventAge: Duration.minutes(1),
  });
  return { schedule, roleId: role.roleId };
};

/**
 * Keeps the CloudWatch metrics of a queue active by one API call an hour. SQS stops reporting metrics after six hours
 * without a call, and resumes up to 15 minutes after the next one, which would delay the alarm on a new message.
 * EventBridge Scheduler supports no read-only calls, so the schedule sets a tag that the queue already has.
 */
export const keepMetricsActive = (parent: Construct, id: string, queue: Queue): void => {
  const tag = 'MetricsKeptActive';
  // The template sets the same tag, so that CloudFormation detects no drift.
  Tags.of(queue).add(tag, 'true');
  scheduleCall(new Construct(parent, id), queue, {
    description: 'Keeps the CloudWatch metrics of a queue active',
    every: Duration.hours(1),
    action: 'tagQueue',
    input: { Tags: { [tag]: 'true' } },
  });
};
