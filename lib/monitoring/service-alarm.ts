import {
  Alarm,
  ComparisonOperator,
  type IAlarmAction,
  type IMetric,
  MathExpression,
  TreatMissingData,
} from 'aws-cdk-lib/aws-cloudwatch';
import { Construct } from 'constructs';

/** Properties of an actionable alarm: the impact and the first step are required. */
export type ServiceAlarmProps = {
  metric: IMetric;
  /** A data point at or above this value is breaching. */
  threshold: number;
  evaluationPeriods: number;
  /** Default: `evaluationPeriods`. */
  datapointsToAlarm?: number;
  /** The effect on tenants. */
  impact: string;
  /** The first step for the engineer on call. */
  firstStep: string;
  /** The anchor of a heading in docs/runbook.md. */
  runbook: string;
  /** Default: not breaching. */
  treatMissingData?: TreatMissingData;
};

/** An alarm reads at most this many metrics (AWS limit). */
export const MAX_ALARM_METRICS = 10;

/** Returns the number of metrics that a metric or expression reads, without expressions themselves. */
const metricCount = (metric: IMetric): number =>
  metric instanceof MathExpression
    ? Object.values(metric.usingMetrics).reduce((sum, used) => sum + metricCount(used), 0)
    : 1;

/**
 * An alarm whose description contains the impact, the first step and the runbook section. It notifies on ALARM and on
 * OK.
 *
 * @throws Error that names the alarm if it reads more than `MAX_ALARM_METRICS`
 */
export class ServiceAlarm extends Construct {
  readonly alarm: Alarm;

  constructor(scope: Construct, id: string, action: IAlarmAction, props: ServiceAlarmProps) {
    super(scope, id);
    const count = metricCount(props.metric);
    if (count > MAX_ALARM_METRICS) {
      throw new Error(`The alarm ${id} reads ${count} metrics, and CloudWatch allows ${MAX_ALARM_METRICS}: split it.`);
    }
    const { metric, threshold, evaluationPeriods, datapointsToAlarm, impact, firstStep, runbook } = props;
    this.alarm = new Alarm(this, 'Alarm', {
      metric,
      threshold,
      evaluationPeriods,
      ...(datapointsToAlarm !== undefined && { datapointsToAlarm }),
      comparisonOperator: ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
      treatMissingData: props.treatMissingData ?? TreatMissingData.NOT_BREACHING,
      alarmDescription: `${impact} First step: ${firstStep} docs/runbook.md#${runbook}`,
    });
    this.alarm.addAlarmAction(action);
    this.alarm.addOkAction(action);
  }
}

/** Adds an alarm to the stack. */
export type AddAlarm = (id: string, props: ServiceAlarmProps) => void;
