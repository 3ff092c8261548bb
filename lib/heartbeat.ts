import { Duration, Stack } from 'aws-cdk-lib';
import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { ContextAttribute, Schedule, ScheduleExpression, ScheduleTargetInput } from 'aws-cdk-lib/aws-scheduler';
import { Universal } from 'aws-cdk-lib/aws-scheduler-targets';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { HEARTBEAT_TENANT } from '../shared/contracts/alarm-event.ts';
import { heartbeatEvent } from '../shared/domain/heartbeat.ts';
import { allow } from './resource-access.ts';

/** The schedule must depend on the role: its policy is a resource of its own. */
export const createScheduleRole = (scope: Construct): Role => {
  const stack = Stack.of(scope);
  const group = stack.formatArn({ service: 'scheduler', resource: 'schedule-group', resourceName: 'default' });
  return new Role(scope, 'Role', {
    assumedBy: new ServicePrincipal('scheduler.amazonaws.com', {
      conditions: { StringEquals: { 'aws:SourceAccount': stack.account, 'aws:SourceArn': group } },
    }),
  });
};

/**
 * Puts an alarm event on the queue of alarm events every five minutes (setting `heartbeatUrl`,
 * docs/decisions/monitoring.md#heartbeat). It calls `SendMessage`, because the queue targets of EventBridge Scheduler
 * support no message group on a standard queue.
 *
 * @returns the schedule, and the ID of the role that sends the events: SQS reports it as the sender, so that no
 * producer can send heartbeats
 */
export const createHeartbeat = (parent: Construct, queue: Queue): { schedule: Schedule; roleId: string } => {
  const event = heartbeatEvent(ContextAttribute.executionId, ContextAttribute.scheduledTime);
  const scope = new Construct(parent, 'Heartbeat');
  const role = createScheduleRole(scope);
  const schedule = new Schedule(scope, 'Schedule', {
    description: 'Sends a heartbeat through the service',
    schedule: ScheduleExpression.rate(Duration.minutes(5)),
    target: new Universal({
      service: 'sqs',
      action: 'sendMessage',
      role,
      input: ScheduleTargetInput.fromObject({
        QueueUrl: queue.queueUrl,
        MessageGroupId: HEARTBEAT_TENANT,
        MessageBody: JSON.stringify(event),
      }),
      policyStatements: [allow(['sqs:SendMessage'], [queue.queueArn])],
      // A late heartbeat is worth nothing.
      retryAttempts: 0,
      maxEventAge: Duration.minutes(1),
    }),
  });
  schedule.node.addDependency(role);
  return { schedule, roleId: role.roleId };
};
