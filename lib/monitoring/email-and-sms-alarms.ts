import { Duration } from 'aws-cdk-lib';
import { MathExpression, Metric, Stats, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import type { AddAlarm } from './service-alarm.ts';

const period = Duration.hours(1);

/**
 * Above these rates SES reviews an account and may pause its sending:
 * https://docs.aws.amazon.com/ses/latest/dg/monitor-sender-reputation.html
 */
const MAX_BOUNCE_RATE = 0.05;
const MAX_COMPLAINT_RATE = 0.001;

/** The alarm needs both this percentage and this number of failed SMS. */
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
  });

/** Returns the account's SMS spend in the current month, in USD. */
export const smsSpend = (): Metric =>
  new Metric({ namespace: 'AWS/SNS', metricName: 'SMSMonthToDateSpentUSD', statistic: Stats.MAXIMUM, period });

/** Returns an SES reputation metric of the account, as a fraction of its emails (0 to 1). */
export const reputation = (metricName: 'Reputation.BounceRate' | 'Reputation.ComplaintRate'): Metric =>
  new Metric({ namespace: 'AWS/SES', metricName, statistic: Stats.MAXIMUM, period });

/** Adds the alarms on the email and SMS sending of the whole account. */
export const emailAndSmsAlarms = (
  addAlarm: AddAlarm,
  { smsMonthlyBudgetUsd }: { smsMonthlyBudgetUsd: number },
): void => {
  // AWS reports these metrics only when the account sends, so missing data keeps the alarm state.
  const treatMissingData = TreatMissingData.IGNORE;
  addAlarm('SmsSpend', {
    metric: smsSpend(),
    threshold: (smsMonthlyBudgetUsd * SPENT_PERCENT) / 100,
    evaluationPeriods: 1,
    treatMissingData,
    impact: `SMS have cost ${SPENT_PERCENT}% of the monthly budget of ${smsMonthlyBudgetUsd} USD. SNS stops sending at the spend limit of the account.`,
    firstStep: 'find the tenant that sends them by counting log lines of send-sms by tenant, and check smsCountries.',
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
    impact: 'SNS accepted SMS but could not deliver them to phones. The service records them as delivered.',
    firstStep: 'read the reasons in the delivery status log of SNS, and check the spend limit.',
    runbook: 'sms-do-not-arrive',
  });
  addAlarm('EmailBounces', {
    metric: reputation('Reputation.BounceRate'),
    threshold: MAX_BOUNCE_RATE,
    evaluationPeriods: 1,
    treatMissingData,
    impact: `${MAX_BOUNCE_RATE * 100}% of the account's emails bounce. SES may pause all email sending of the account.`,
    firstStep: 'find the notifications whose emails bounce in the log of record-email-events.',
    runbook: 'emails-bounce',
  });
  addAlarm('EmailComplaints', {
    metric: reputation('Reputation.ComplaintRate'),
    threshold: MAX_COMPLAINT_RATE,
    evaluationPeriods: 1,
    treatMissingData,
    impact: `${MAX_COMPLAINT_RATE * 1000} in 1,000 emails of the account are reported as spam. SES may pause all email sending of the account.`,
    firstStep: 'find the notifications with complaints in the log of record-email-events.',
    runbook: 'emails-are-reported-as-spam',
  });
};
