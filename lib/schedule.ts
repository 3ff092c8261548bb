import { type Duration, Stack } from 'aws-cdk-lib';
import { type PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Schedule, ScheduleExpression, type ScheduleTargetInput } from 'aws-cdk-lib/aws-scheduler';
import { Universal } from 'aws-cdk-lib/aws-scheduler-targets';
import type { Construct } from 'constructs';

/** An AWS call that a schedule makes, and the permission for it. */
export type ScheduledCall = {
  description: string;
  every: Duration;
  /** As in the AWS SDK, such as `sqs` and `sendMessage`. */
  service: string;
  action: string;
  input: ScheduleTargetInput;
  permission: PolicyStatement;
  /** By default, EventBridge Scheduler repeats a failed call for a day. */
  retries?: { retryAttempts: number; maxEventAge: Duration };
};

/** Adds a schedule with a role of its own to a scope. */
export const addSchedule = (
  scope: Construct,
  { description, every, service, action, input, permission, retries }: ScheduledCall,
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
    target: new Universal({ service, action, role, input, policyStatements: [permission], ...retries }),
  });
  return { schedule, role };
};
