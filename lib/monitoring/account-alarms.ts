import { Duration } from 'aws-cdk-lib';
import { MathExpression, Metric, Stats, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import { reservedBy } from '../settings.ts';
import {
  type Alarms,
  FAILS_TWICE,
  type Monitored,
  minute,
  OUTAGE_PERIOD,
  opsCommand,
  type ServiceAlarm,
} from './alarms.ts';

const hour = Duration.hours(1);

/** The percentage of the account's concurrency quota that leaves time to request an increase. */
const NEAR_QUOTA_PERCENT = 80;

/**
 * Both in an hour. A few numbers that no longer exist are not a fault of the account, and of many SMS always more than a
 * few fail.
 */
const FAILED_SMS_PERCENT = 20;
const MIN_FAILED_SMS = 10;
/** Of the monthly SMS budget. */
const SPENT_PERCENT = 80;
/** Mailboxes in an hour. */
const MAX_EMAIL_STOPS = 50;

/** Returns the alarms on what all stacks of the AWS account share: Lambda's concurrency, SES and SNS. */
export const accountAlarms = (stack: Monitored): Alarms => ({
  ...concurrencyAlarms(stack),
  ...emailAlarms(stack),
  ...smsAlarms(stack),
});

/** Without dimensions, these metrics of Lambda cover all functions of the account in a region. */
const concurrencyAlarms = ({ settings }: Monitored): Alarms => {
  const quota = settings.lambdaConcurrencyQuota;
  const reserved = reservedBy(settings);
  const lambda = (metricName: string, statistic: string, period: Duration) =>
    new Metric({ namespace: 'AWS/Lambda', metricName, statistic, period });
  return {
    AccountConcurrency: {
      metric: lambda('ClaimedAccountConcurrency', Stats.MAXIMUM, minute),
      // What is reserved is always claimed.
      threshold: reserved + ((quota - reserved) * NEAR_QUOTA_PERCENT) / 100,
      evaluationPeriods: 5,
      impact: `The functions of the account use ${NEAR_QUOTA_PERCENT}% of the concurrency quota${reserved > 0 ? ' that is not reserved' : ''}. At 100% Lambda throttles ${reserved > 0 ? 'the API' : 'the API and the senders'}.`,
      firstStep:
        'find the function whose concurrency grows, in any stack of the account (metric ConcurrentExecutions by function).',
      runbook: 'concurrency-near-the-limit',
    },
    Throttles: {
      metric: lambda('Throttles', Stats.SUM, OUTAGE_PERIOD),
      ...FAILS_TWICE,
      impact: 'Lambda throttles functions of the account. If it throttles a sender or dispatch, alerts are late.',
      firstStep:
        'find the function with the Lambda metric Throttles, then compare the concurrency of the account with its quota.',
      runbook: 'functions-are-throttled',
    },
  };
};

/**
 * Returns the alarm on one of SES's own rates. SES reviews the account at 5% bounces and 0.1% complaints:
 * https://docs.aws.amazon.com/ses/latest/dg/reputationdashboard-cloudwatch-alarm.html
 */
const reputationAlarm = ({ scope }: Monitored, rate: string, percent: number, event: string): ServiceAlarm => ({
  metric: new Metric({
    namespace: 'AWS/SES',
    metricName: `Reputation.${rate}`,
    statistic: Stats.MAXIMUM,
    period: hour,
  }),
  threshold: percent / 100,
  // SES reports no rate while it has nothing new to count, and recommends to keep the state.
  treatMissingData: TreatMissingData.IGNORE,
  impact: `None yet. ${percent}% of the emails of the AWS account ${event}: soon SES reviews it, and can stop all its emails.`,
  firstStep: `find the tenants whose emails cause it: ${opsCommand(scope, 'tenants')}.`,
  runbook: 'bounces-or-complaints-are-frequent',
});

const emailAlarms = (stack: Monitored): Alarms => ({
  SendingFailures: {
    metric: stack.metric('service_failures', { period: minute }),
    // An email that SES rejects because of the daily quota is retried after 60 to 72 minutes; both attempts must be in
    // the window. The period is one minute, because CloudWatch evaluates longer periods as sliding windows, which would
    // only sometimes contain two attempts.
    evaluationPeriods: 75,
    datapointsToAlarm: 2,
    impact: 'SES or SNS fails, throttles or rejects emails, SMS or messages to operators. The service retries them.',
    firstStep: 'find the type with the metric service_failures, and the reasons in the log of its sender.',
    runbook: 'ses-or-sns-fails',
  },
  EmailStops: {
    metric: new MathExpression({
      // Without data, the alarm would read the hours before.
      expression: 'FILL(stops, 0)',
      usingMetrics: { stops: stack.metric('email_stops', { period: hour }) },
      period: hour,
      label: 'mailboxes whose emails were stopped',
    }),
    threshold: MAX_EMAIL_STOPS,
    impact: `In an hour, emails to ${MAX_EMAIL_STOPS} mailboxes were stopped, because they bounced or their recipients do not want them. These get no alerts by email.`,
    firstStep: `find the tenants with the most stops: ${opsCommand(stack.scope, 'tenants')}.`,
    runbook: 'emails-to-many-mailboxes-are-stopped',
  },
  BounceRate: reputationAlarm(stack, 'BounceRate', 4, 'bounce'),
  ComplaintRate: reputationAlarm(stack, 'ComplaintRate', 0.08, 'are reported as spam'),
});

const smsAlarms = ({ settings: { smsMonthlyBudgetUsd } }: Monitored): Alarms => {
  const sms = (metricName: string, statistic: string, dimensionsMap = {}) =>
    new Metric({ namespace: 'AWS/SNS', metricName, statistic, dimensionsMap, period: hour });
  const toPhones = { PhoneNumber: 'PhoneNumberDirect' };
  return {
    SmsSpend: {
      metric: sms('SMSMonthToDateSpentUSD', Stats.MAXIMUM),
      threshold: (smsMonthlyBudgetUsd * SPENT_PERCENT) / 100,
      // AWS reports this metric only when the account sends, so missing data keeps the state.
      treatMissingData: TreatMissingData.IGNORE,
      impact: `SMS have cost ${SPENT_PERCENT}% of the monthly budget of ${smsMonthlyBudgetUsd} USD. SNS stops sending at the spend limit of the account.`,
      firstStep:
        'find the tenant that sends them by counting the log lines "sms accepted" of send-sms by tenant, and check smsCountries.',
      runbook: 'sms-cost-too-much',
    },
    SmsFailures: {
      metric: new MathExpression({
        expression: `IF(failed >= ${MIN_FAILED_SMS}, 100 * failed / (failed + FILL(delivered, 0)), 0)`,
        usingMetrics: {
          failed: sms('NumberOfNotificationsFailed', Stats.SUM, toPhones),
          delivered: sms('NumberOfNotificationsDelivered', Stats.SUM, toPhones),
        },
        period: hour,
        label: 'failed SMS, %',
      }),
      threshold: FAILED_SMS_PERCENT,
      impact: `In an hour, SNS accepted SMS but could not deliver ${FAILED_SMS_PERCENT}% of them, and at least ${MIN_FAILED_SMS}, to phones. The service records them as delivered.`,
      firstStep: 'read the reasons in the delivery status log of SNS, and check the spend limit.',
      runbook: 'sms-do-not-arrive',
    },
  };
};
