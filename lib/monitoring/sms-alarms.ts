import { Duration } from 'aws-cdk-lib';
import { MathExpression, Metric, Stats, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import type { AddAlarm } from './service-alarm.ts';

const period = Duration.hours(1);

/**
 * The alarm needs both this percentage and this number of failed SMS in an hour. A few numbers that no longer exist are
 * not a fault of the account, and of many SMS always more than a few fail.
 */
const FAILED_PERCENT = 20;
const MIN_FAILED = 10;
/** The percentage of the monthly SMS budget at which the alarm fires. */
const SPENT_PERCENT = 80;

/** Returns the number of SMS to phone numbers that failed or were delivered, for the whole account. */
export const smsCount = (metricName: 'NumberOfNotificationsFailed' | 'NumberOfNotificationsDelivered'): Metric =>
  new Metric({
    namespace: 'AWS/SNS',
    metricName,
    dimensionsMap: { PhoneNumber: 'PhoneNumberDirect' },
    statistic: Stats.SUM,
    period,
  });

/** Returns the account's SMS spend in the current month, in USD. */
export const smsSpend = (): Metric =>
  new Metric({ namespace: 'AWS/SNS', metricName: 'SMSMonthToDateSpentUSD', statistic: Stats.MAXIMUM, period });

/** Adds the alarms on SMS that SNS accepts and does not deliver, for the whole account. */
export const smsAlarms = (addAlarm: AddAlarm, { smsMonthlyBudgetUsd }: { smsMonthlyBudgetUsd: number }): void => {
  addAlarm('SmsSpend', {
    metric: smsSpend(),
    threshold: (smsMonthlyBudgetUsd * SPENT_PERCENT) / 100,
    evaluationPeriods: 1,
    // AWS reports this metric only when the account sends, so missing data keeps the state.
    treatMissingData: TreatMissingData.IGNORE,
    impact: `SMS have cost ${SPENT_PERCENT}% of the monthly budget of ${smsMonthlyBudgetUsd} USD. SNS stops sending at the spend limit of the account.`,
    firstStep:
      'find the tenant that sends them by counting the log lines "sms accepted" of send-sms by tenant, and check smsCountries.',
    runbook: 'sms-cost-too-much',
  });
  addAlarm('SmsFailures', {
    metric: new MathExpression({
      expression: `IF(failed >= ${MIN_FAILED}, 100 * failed / (failed + FILL(delivered, 0)), 0)`,
      usingMetrics: {
        failed: smsCount('NumberOfNotificationsFailed'),
        delivered: smsCount('NumberOfNotificationsDelivered'),
      },
      period,
      label: 'failed SMS, %',
    }),
    threshold: FAILED_PERCENT,
    evaluationPeriods: 1,
    impact: `In an hour, SNS accepted SMS but could not deliver ${FAILED_PERCENT}% of them, and at least ${MIN_FAILED}, to phones. The service records them as delivered.`,
    firstStep: 'read the reasons in the delivery status log of SNS, and check the spend limit.',
    runbook: 'sms-do-not-arrive',
  });
};
