import { type Failure, failed } from './attempt-outcome.ts';
import { errorCode } from './error-code.ts';

type FailureKind = Pick<Failure, 'result' | 'reason' | 'cause' | 'retryAfterMs' | 'countsAsAttempt'>;

const rejected: FailureKind = { result: 'permanent', reason: 'rejected', cause: 'destination' };
const operatorsFault: FailureKind = { result: 'transient', reason: 'sender_misconfigured', cause: 'service' };
const ourRate: FailureKind = {
  result: 'throttled',
  reason: 'throttled',
  cause: 'service',
  countsAsAttempt: false,
  retryAfterMs: 5_000,
};
const ourDailyQuota: FailureKind = { ...ourRate, reason: 'aws_quota_exceeded', retryAfterMs: 3_600_000 };
const unknown: FailureKind = { result: 'transient', reason: 'rejected', cause: 'service' };
const unreachable: FailureKind = { result: 'transient', reason: 'network_error', cause: 'service' };

/** One row: the first whose name, and pattern of the error's text where it has one, fits. Names are the SDK's (`error.name`). */
type Rule = readonly [names: readonly string[], kind: FailureKind, text?: RegExp];

/** The rules of the services that deliver for us (wire-formats); an error that no row names is transient. */
const awsRules = {
  ses: [
    [['MessageRejected'], operatorsFault, /not verified/i],
    [['MessageRejected', 'InvalidParameterValue', 'ValidationError'], rejected],
    [
      [
        'AccountSendingPausedException',
        'ConfigurationSetSendingPausedException',
        'MailFromDomainNotVerifiedException',
        'ConfigurationSetDoesNotExistException',
        'AccessDenied',
        'AccessDeniedException',
      ],
      operatorsFault,
    ],
    [['Throttling', 'ThrottlingException'], ourDailyQuota, /daily/i],
    [['Throttling', 'ThrottlingException'], ourRate],
  ],
  sns: [
    [
      ['InvalidParameterException', 'InvalidParameterValueException', 'OptedOutException', 'EndpointDisabledException'],
      rejected,
    ],
    [['AuthorizationErrorException'], operatorsFault],
    [['ThrottledException', 'Throttling', 'ThrottlingException'], ourRate],
  ],
} as const satisfies Record<string, readonly Rule[]>;

/**
 * The outcome of a call to SES or SNS that threw. The explanation for the tester has the error's name alone: its text may
 * hold the recipient or our account.
 */
export const awsFailure = (service: keyof typeof awsRules, error: unknown): Failure => {
  const { name, message } = error instanceof Error ? error : { name: 'Error', message: '' };
  const rules: readonly Rule[] = awsRules[service];
  // An error that the service itself has given carries whose fault it is.
  const otherwise = error instanceof Error && '$fault' in error ? unknown : unreachable;
  const rule = rules.find(([names, , text]) => names.includes(name) && (text?.test(message) ?? true));
  const kind = rule?.[1] ?? otherwise;
  return failed(kind.result, kind.reason, `${service.toUpperCase()} did not accept the message: ${name}`, {
    ...kind,
    code: errorCode(error),
  });
};
