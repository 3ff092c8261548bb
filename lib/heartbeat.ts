import { Duration } from 'aws-cdk-lib';
import { ContextAttribute, type Schedule, ScheduleTargetInput } from 'aws-cdk-lib/aws-scheduler';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { HEARTBEAT_TENANT } from '../shared/contracts/alarm-event.ts';
import { heartbeatEvent } from '../shared/domain/heartbeat.ts';
import { allow } from './resource-access.ts';
import { addSchedule } from './schedule.ts';

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
  const { schedule, role } = addSchedule(new Construct(parent, 'Heartbeat'), {
    description: 'Sends a heartbeat through the service',
    every: Duration.minutes(5),
    service: 'sqs',
    action: 'sendMessage',
    input: ScheduleTargetInput.fromObject({
      QueueUrl: queue.queueUrl,
      MessageGroupId: HEARTBEAT_TENANT,
      MessageBody: JSON.stringify(event),
    }),
    permission: allow(['sqs:SendMessage'], [queue.queueArn]),
    // A late heartbeat is worth nothing.
    retries: { retryAttempts: 0, maxEventAge: Duration.minutes(1) },
  });
  return { schedule, roleId: role.roleId };
};
