import {
  Alarm,
  ComparisonOperator,
  type IAlarmAction,
  type IMetric,
  TreatMissingData,
} from 'aws-cdk-lib/aws-cloudwatch';
import { Construct } from 'constructs';

/** An alarm that a person can act on: it cannot be made without saying what it means and what to do first. */
export type ServiceAlarmProps = {
  metric: IMetric;
  /** It goes off at this value or above ... */
  threshold: number;
  /** ... in so many periods of the metric in a row. */
  periods: number;
  /** What it means for those whom the service serves. */
  impact: string;
  /** What whoever hears of it does first. */
  firstStep: string;
  /** Its heading in the runbook, as an anchor: lower case, hyphens for spaces. */
  runbook: string;
  /** What no data means; good news unless another word is given. */
  missing?: TreatMissingData;
};

/** An alarm with its impact, its first step and its place in the runbook, which tells when it goes off and when it is over. */
export class ServiceAlarm extends Construct {
  readonly alarm: Alarm;

  constructor(scope: Construct, id: string, action: IAlarmAction, props: ServiceAlarmProps) {
    super(scope, id);
    const { metric, threshold, periods, impact, firstStep, runbook } = props;
    this.alarm = new Alarm(this, 'Alarm', {
      metric,
      threshold,
      evaluationPeriods: periods,
      comparisonOperator: ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
      treatMissingData: props.missing ?? TreatMissingData.NOT_BREACHING,
      alarmDescription: `${impact} First step: ${firstStep} RUNBOOK.md#${runbook}`,
    });
    this.alarm.addAlarmAction(action);
    this.alarm.addOkAction(action);
  }
}
