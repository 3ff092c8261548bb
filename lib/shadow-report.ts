import { Duration } from 'aws-cdk-lib';
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import { ScheduleTargetInput } from 'aws-cdk-lib/aws-scheduler';
import { Construct } from 'constructs';
import type { ManagedTopic } from './managed-topic.ts';
import { allow } from './resource-access.ts';
import { addSchedule } from './schedule.ts';
import { type FunctionDefaults, ServiceFunction } from './service-function.ts';
import type { Storage } from './storage.ts';

/** Tells the operators every day which tenants are in shadow mode (docs/decisions/notices.md#report-of-shadow-mode). */
export class ShadowReport extends Construct {
  readonly reporter: LambdaFunction;

  constructor(scope: Construct, id: string, defaults: FunctionDefaults, storage: Storage, managedTopic: ManagedTopic) {
    super(scope, id);
    const access = storage.accounts.access('Scan').and(managedTopic.publishAccess());
    this.reporter = new ServiceFunction(this, 'report-shadow-mode', defaults, access).lambda;
    addSchedule(this, {
      description: 'Reports the tenants in shadow mode',
      every: Duration.days(1),
      service: 'lambda',
      action: 'invoke',
      // Lambda repeats a failed invocation twice.
      input: ScheduleTargetInput.fromObject({ FunctionName: this.reporter.functionName, InvocationType: 'Event' }),
      permission: allow(['lambda:InvokeFunction'], [this.reporter.functionArn]),
    });
  }
}
