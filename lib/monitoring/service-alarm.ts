import {
  Alarm,
  ComparisonOperator,
  type IAlarmAction,
  type IMetric,
  TreatMissingData,
} from 'aws-cdk-lib/aws-cloudwatch';
import { Construct } from 'constructs';

/** An alarm that a person can act on: it cannot be made without its impact and the first step to take. */
export type ServiceAlarmProps = {
  metric: IMetric;
  /** A data point at this value or above is breaching. */
  threshold: number;
  /** How many of the newest periods of the metric are evaluated. */
  evaluationPeriods: number;
  /** How many of them must be breaching; all unless set. */
  datapointsToAlarm?: number;
  /** What it means for those whom the service serves. */
  impact: string;
  /** What the person on call does first. */
  firstStep: string;
  /** Its heading in the runbook, as an anchor: lower case, hyphens for spaces. */
  runbook: string;
  /** What periods without data mean; not breaching unless set. */
  treatMissingData?: TreatMissingData;
};

/** An alarm whose description names its impact, the first step and its runbook section. It notifies on ALARM and on OK. */
export class ServiceAlarm extends Construct {
  readonly alarm: Alarm;

  constructor(scope: Construct, id: string, action: IAlarmAction, props: ServiceAlarmProps) {
    super(scope, id);
    const { metric, threshold, evaluationPeriods, datapointsToAlarm, impact, firstStep, runbook } = props;
    this.alarm = new Alarm(this, 'Alarm', {
      metric,
      threshold,
      evaluationPeriods,
      ...(datapointsToAlarm !== undefined && { datapointsToAlarm }),
      comparisonOperator: ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
      treatMissingData: props.treatMissingData ?? TreatMissingData.NOT_BREACHING,
      alarmDescription: `${impact} First step: ${firstStep} RUNBOOK.md#${runbook}`,
    });
    this.alarm.addAlarmAction(action);
    this.alarm.addOkAction(action);
  }
}

/** Makes an alarm of the stack. */
export type MakeAlarm = (id: string, props: ServiceAlarmProps) => void;
