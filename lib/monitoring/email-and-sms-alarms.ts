import { Duration } from 'aws-cdk-lib';
import { MathExpression, Metric, Stats, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import type { MakeAlarm } from './service-alarm.ts';

const period = Duration.hours(1);

/** SES reviews an account above these shares, and then may stop it (its documentation, "Reputation metrics"). */
const BOUNCES = 0.05;
const COMPLAINTS = 0.001;

/** Texts that fail: this share of at least so many. */
const FAILED_PERCENT = 20;
const MIN_FAILED = 10;
/** When to say that the month's money for texts runs out, in percent of it. */
const SPENT_PERCENT = 80;

/** Texts of the account to phone numbers, by what became of them. */
export const texts = (metricName: 'NumberOfNotificationsFailed' | 'NumberOfNotificationsDelivered'): Metric =>
  new Metric({
    namespace: 'AWS/SNS',
    metricName,
    dimensionsMap: { PhoneNumber: 'PhoneNumberDirect' },
    statistic: Stats.SUM,
  });

/** What the account has spent on texts this month, in USD. */
export const textSpend = (): Metric =>
  new Metric({ namespace: 'AWS/SNS', metricName: 'SMSMonthToDateSpentUSD', statistic: Stats.MAXIMUM, period });

/** The account's reputation with SES, as a share of its mails. */
export const reputation = (metricName: 'Reputation.BounceRate' | 'Reputation.ComplaintRate'): Metric =>
  new Metric({ namespace: 'AWS/SES', metricName, statistic: Stats.MAXIMUM, period });

/** Alarms of the ways out that the whole account shares: mail and texts. */
export const emailAndSmsAlarms = (alarm: MakeAlarm, { smsMonthlyBudget }: { smsMonthlyBudget: number }): void => {
  // These are measured only when something is sent: until then the alarm keeps its state.
  const treatMissingData = TreatMissingData.IGNORE;
  alarm('SmsSpend', {
    metric: textSpend(),
    threshold: (smsMonthlyBudget * SPENT_PERCENT) / 100,
    evaluationPeriods: 1,
    treatMissingData,
    impact: `Texts have cost ${SPENT_PERCENT} % of the month's ${smsMonthlyBudget} USD; at the account's limit they stop.`,
    firstStep: 'find who sends them: count the lines of the log of send-sms by tenant, and see smsCountries.',
    runbook: 'texts-cost-too-much',
  });
  alarm('SmsFailures', {
    metric: new MathExpression({
      expression: `IF(failed >= ${MIN_FAILED}, 100 * failed / (failed + FILL(delivered, 0)), 0)`,
      usingMetrics: {
        failed: texts('NumberOfNotificationsFailed'),
        delivered: texts('NumberOfNotificationsDelivered'),
      },
      period,
      label: '% of texts that failed',
    }),
    threshold: FAILED_PERCENT,
    evaluationPeriods: 1,
    impact: 'Texts that SNS took do not reach phones, although their deliveries count as delivered.',
    firstStep: 'look at the reasons in the delivery status log of SNS, and at the spend limit.',
    runbook: 'texts-do-not-arrive',
  });
  alarm('MailBounces', {
    metric: reputation('Reputation.BounceRate'),
    threshold: BOUNCES,
    evaluationPeriods: 1,
    treatMissingData,
    impact: `${BOUNCES * 100} % of the account's mails bounce: SES may stop all mail of the account.`,
    firstStep: 'find the notifications whose mails bounce in the log of record-mail-events.',
    runbook: 'mails-bounce',
  });
  alarm('MailComplaints', {
    metric: reputation('Reputation.ComplaintRate'),
    threshold: COMPLAINTS,
    evaluationPeriods: 1,
    treatMissingData,
    impact: `${COMPLAINTS * 1000} in 1,000 mails are reported as spam: SES may stop all mail of the account.`,
    firstStep: 'find the notifications that are complained of in the log of record-mail-events.',
    runbook: 'mails-are-reported-as-spam',
  });
};
