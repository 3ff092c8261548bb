import { Duration } from 'aws-cdk-lib';
import { MathExpression, Metric, Stats, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import type { MakeAlarm } from './service-alarm.ts';

const period = Duration.hours(1);

/** SES reviews an account above these shares, and then may stop it (its documentation, "Reputation metrics"). */
const BOUNCES = 0.05;
const COMPLAINTS = 0.001;

/** SMS that fail: this share, and at least so many. */
const FAILED_PERCENT = 20;
const MIN_FAILED = 10;
/** The share of the month's SMS budget at which the alarm fires, in percent. */
const SPENT_PERCENT = 80;

/** SMS of the account to phone numbers, by their result. */
export const texts = (metricName: 'NumberOfNotificationsFailed' | 'NumberOfNotificationsDelivered'): Metric =>
  new Metric({
    namespace: 'AWS/SNS',
    metricName,
    dimensionsMap: { PhoneNumber: 'PhoneNumberDirect' },
    statistic: Stats.SUM,
  });

/** What the account has spent on SMS this month, in USD. */
export const textSpend = (): Metric =>
  new Metric({ namespace: 'AWS/SNS', metricName: 'SMSMonthToDateSpentUSD', statistic: Stats.MAXIMUM, period });

/** The account's reputation with SES, as a share of its emails. */
export const reputation = (metricName: 'Reputation.BounceRate' | 'Reputation.ComplaintRate'): Metric =>
  new Metric({ namespace: 'AWS/SES', metricName, statistic: Stats.MAXIMUM, period });

/** Alarms of email and SMS as the whole account sends them. */
export const emailAndSmsAlarms = (alarm: MakeAlarm, { smsMonthlyBudgetUsd }: { smsMonthlyBudgetUsd: number }): void => {
  // These are measured only when something is sent: until then the alarm keeps its state.
  const treatMissingData = TreatMissingData.IGNORE;
  alarm('SmsSpend', {
    metric: textSpend(),
    threshold: (smsMonthlyBudgetUsd * SPENT_PERCENT) / 100,
    evaluationPeriods: 1,
    treatMissingData,
    impact: `SMS have cost ${SPENT_PERCENT} % of the month's ${smsMonthlyBudgetUsd} USD; at the account's limit SNS sends no more.`,
    firstStep: 'find who sends them: count the lines of the log of send-sms by tenant, and check smsCountries.',
    runbook: 'sms-cost-too-much',
  });
  alarm('SmsFailures', {
    metric: new MathExpression({
      expression: `IF(failed >= ${MIN_FAILED}, 100 * failed / (failed + FILL(delivered, 0)), 0)`,
      usingMetrics: {
        failed: texts('NumberOfNotificationsFailed'),
        delivered: texts('NumberOfNotificationsDelivered'),
      },
      period,
      label: '% of SMS that failed',
    }),
    threshold: FAILED_PERCENT,
    evaluationPeriods: 1,
    impact: 'SMS that SNS accepted do not reach phones, although their deliveries count as delivered.',
    firstStep: 'read the failureReasons in the delivery status log of SNS, and check the spend limit.',
    runbook: 'sms-do-not-arrive',
  });
  alarm('MailBounces', {
    metric: reputation('Reputation.BounceRate'),
    threshold: BOUNCES,
    evaluationPeriods: 1,
    treatMissingData,
    impact: `${BOUNCES * 100} % of the account's emails bounce: SES may stop all email of the account.`,
    firstStep: 'find the notifications whose emails bounce in the log of record-email-events.',
    runbook: 'emails-bounce',
  });
  alarm('MailComplaints', {
    metric: reputation('Reputation.ComplaintRate'),
    threshold: COMPLAINTS,
    evaluationPeriods: 1,
    treatMissingData,
    impact: `${COMPLAINTS * 1000} in 1,000 emails are reported as spam: SES may stop all email of the account.`,
    firstStep: 'find the notifications with complaints in the log of record-email-events.',
    runbook: 'emails-are-reported-as-spam',
  });
};
