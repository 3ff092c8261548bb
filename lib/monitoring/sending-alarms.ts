import { Duration } from 'aws-cdk-lib';
import { MathExpression } from 'aws-cdk-lib/aws-cloudwatch';
import type { MakeAlarm } from './service-alarm.ts';
import { awsTypes, type ServiceMetrics } from './service-metrics.ts';

/** Attempts that SES or SNS fails, below this share of a type's messages, are no outage: the retries cover them. */
const FAILURE_PERCENT = 1;

/** Alarms of what the senders get from SES and SNS. */
export const sendingAlarms = (alarm: MakeAlarm, metrics: ServiceMetrics): void => {
  for (const type of awsTypes) {
    alarm(`SendingFailures-${type}`, {
      metric: new MathExpression({
        expression: `IF(FILL(failures, 0) >= 1 AND 100 * FILL(failures, 0) >= ${FAILURE_PERCENT} * FILL(handled, 0), 1, 0)`,
        usingMetrics: {
          failures: metrics.deliveries('service_failures', type),
          handled: metrics.deliveries('handled', type),
        },
        period: Duration.minutes(1),
        label: `attempts by ${type} that SES or SNS failed`,
      }),
      threshold: 1,
      // Where there is one alert alone, ten minutes pass between its fourth attempt and the fifth. Minutes, since CloudWatch moves
      // longer periods along by a minute: two attempts would be in one of them, or in two, by turns.
      evaluationPeriods: 16,
      datapointsToAlarm: 2,
      impact: `SES or SNS fails or throttles alerts by ${type}: they are retried for about 8 hours.`,
      firstStep:
        'read the failureReasons with the message "delivery failed" in the log of the sender, then the AWS Health Dashboard.',
      runbook: 'ses-or-sns-fails',
    });
  }
  alarm('SendingMisconfigured', {
    metric: metrics.allDeliveries('misconfigured', { period: Duration.minutes(15) }, awsTypes),
    threshold: 1,
    evaluationPeriods: 1,
    impact:
      'AWS refuses emails or SMS for how the account is set up: they are retried for about 8 hours, then dead-lettered.',
    firstStep: 'check in SES the identity, the sandbox and whether sending is paused, and in SNS the SMS settings.',
    runbook: 'aws-refuses-emails-or-sms',
  });
  alarm('AwsQuotaExceeded', {
    metric: metrics.allDeliveries('aws_quota_exceeded', { period: Duration.minutes(15) }, awsTypes),
    threshold: 1,
    // A refused email is sent again after an hour, or up to 72 minutes: it must be in the window until it is sent.
    evaluationPeriods: 5,
    datapointsToAlarm: 1,
    impact: 'Emails wait: the account has used its daily SES quota. Each is sent again every hour, for 24 hours.',
    firstStep: 'compare the quota with what is sent: aws ses get-send-quota.',
    runbook: 'the-daily-ses-quota-is-used-up',
  });
  alarm('TenantOverLimit', {
    metric: metrics.allDeliveries('tenant_limit_exceeded', { period: Duration.minutes(15) }, awsTypes),
    threshold: 1,
    evaluationPeriods: 1,
    impact: 'A tenant is over a daily limit: its further alerts of that type are dead-lettered until midnight UTC.',
    firstStep: 'find the tenant in the log of the sender (reason "tenant_limit_exceeded").',
    runbook: 'a-tenant-is-over-its-daily-limit',
  });
};
