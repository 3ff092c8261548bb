import { Duration } from 'aws-cdk-lib';
import { MathExpression } from 'aws-cdk-lib/aws-cloudwatch';
import type { AddAlarm } from './service-alarm.ts';
import { awsTypes, type ServiceMetrics } from './service-metrics.ts';

/** If SES or SNS fails a lower percentage of attempts, it is not an outage, because retries deliver the messages. */
const FAILURE_PERCENT = 1;

/** Adds the alarms on failures, throttling and quotas of SES and SNS, and on daily limits of tenants. */
export const sendingAlarms = (addAlarm: AddAlarm, metrics: ServiceMetrics): void => {
  for (const type of awsTypes) {
    addAlarm(`SendingFailures-${type}`, {
      metric: new MathExpression({
        expression: `IF(FILL(failures, 0) >= 1 AND 100 * FILL(failures, 0) >= ${FAILURE_PERCENT} * FILL(handled, 0), 1, 0)`,
        usingMetrics: {
          failures: metrics.deliveries('service_failures', type),
          handled: metrics.deliveries('handled', type),
        },
        period: Duration.minutes(1),
        label: `attempts by ${type} failed by SES or SNS`,
      }),
      threshold: 1,
      // A single alert waits ten minutes between its fourth and fifth attempts. The period is one minute, because
      // CloudWatch evaluates longer periods as sliding windows, which would only sometimes contain two attempts.
      evaluationPeriods: 16,
      datapointsToAlarm: 2,
      impact: `SES or SNS fails or throttles alerts by ${type}. The service retries them for about 8 hours.`,
      firstStep:
        'read the reasons in the log of the sender (message "delivery failed"), then check the AWS Health Dashboard.',
      runbook: 'ses-or-sns-fails',
    });
  }
  addAlarm('SendingMisconfigured', {
    metric: metrics.allDeliveries('misconfigured', { period: Duration.minutes(15) }, awsTypes),
    threshold: 1,
    evaluationPeriods: 1,
    impact:
      'SES or SNS rejects emails or SMS because of the account configuration. They are retried for about 8 hours, then dead-lettered.',
    firstStep: 'check the identity, the sandbox and the sending status in SES, and the SMS settings in SNS.',
    runbook: 'aws-refuses-emails-or-sms',
  });
  addAlarm('AwsQuotaExceeded', {
    metric: metrics.allDeliveries('aws_quota_exceeded', { period: Duration.minutes(15) }, awsTypes),
    threshold: 1,
    // A rejected email is retried after 60 to 72 minutes, and must stay in the window until then.
    evaluationPeriods: 5,
    datapointsToAlarm: 1,
    impact: 'The account has used its daily SES quota. Emails wait, and are retried every hour for 24 hours.',
    firstStep: 'compare the quota with the emails sent: aws ses get-send-quota.',
    runbook: 'the-daily-ses-quota-is-used-up',
  });
  addAlarm('TenantLimitExceeded', {
    metric: metrics.allDeliveries('tenant_limit_exceeded', { period: Duration.minutes(15) }, awsTypes),
    threshold: 1,
    evaluationPeriods: 1,
    impact:
      'A tenant has exceeded a daily limit. Its further alerts of that type are dead-lettered until midnight UTC.',
    firstStep: 'find the tenant in the log of the sender (reason "tenant_limit_exceeded").',
    runbook: 'a-tenant-is-over-its-daily-limit',
  });
};
