import { Duration, Stack } from 'aws-cdk-lib';
import { PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { ContextAttribute, Schedule, ScheduleExpression, ScheduleTargetInput } from 'aws-cdk-lib/aws-scheduler';
import { Universal } from 'aws-cdk-lib/aws-scheduler-targets';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct, type IDependable } from 'constructs';
import { HEARTBEAT_TENANT } from '../shared/contracts/alarm-event.ts';
import { heartbeatEvent } from '../shared/domain/heartbeat.ts';

/**
 * Puts an alarm event on the queue of alarm events every five minutes (setting `heartbeatUrl`,
 * docs/decisions/monitoring.md#heartbeat). It calls `SendMessage`, because the queue targets of EventBridge Scheduler
 * support no message group on a standard queue.
 */
export class Heartbeat extends Construct {
  /** The ID of the role that sends the events. SQS reports it as the sender, so that no producer can send heartbeats. */
  readonly roleId: string;
  readonly #schedule: Schedule;

  constructor(scope: Construct, id: string, queue: Queue) {
    super(scope, id);
    const stack = Stack.of(this);
    const group = stack.formatArn({ service: 'scheduler', resource: 'schedule-group', resourceName: 'default' });
    const role = new Role(this, 'Role', {
      assumedBy: new ServicePrincipal('scheduler.amazonaws.com', {
        conditions: { StringEquals: { 'aws:SourceAccount': stack.account, 'aws:SourceArn': group } },
      }),
    });
    this.roleId = role.roleId;
    const event = heartbeatEvent(ContextAttribute.executionId, ContextAttribute.scheduledTime);
    this.#schedule = new Schedule(this, 'Schedule', {
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
        policyStatements: [new PolicyStatement({ actions: ['sqs:SendMessage'], resources: [queue.queueArn] })],
        // A late heartbeat is worth nothing.
        retryAttempts: 0,
        maxEventAge: Duration.minutes(1),
      }),
    });
  }

  /** Creates the schedule after this construct, which must know the role before it receives heartbeats. */
  startAfter(consumer: IDependable): void {
    this.#schedule.node.addDependency(consumer);
  }
}
