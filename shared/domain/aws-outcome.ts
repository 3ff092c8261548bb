import { type Failure, failed } from './attempt-outcome.ts';
import { errorCode } from './error-code.ts';

type Verdict = Pick<Failure, 'result' | 'reason' | 'cause' | 'retryAfter' | 'free'>;

const rejected: Verdict = { result: 'permanent', reason: 'rejected', cause: 'destination' };
const operatorsFault: Verdict = { result: 'transient', reason: 'sender misconfigured', cause: 'service' };
const ourRate: Verdict = { result: 'throttled', reason: 'throttled', cause: 'service', free: true, retryAfter: 5_000 };
const ourDailyQuota: Verdict = { ...ourRate, reason: 'daily quota', retryAfter: 3_600_000 };
const unknown: Verdict = { result: 'transient', reason: 'rejected', cause: 'service' };
const unreachable: Verdict = { result: 'transient', reason: 'network', cause: 'service' };

/** One row: the first whose name, and pattern of the error's text where it has one, fits. Names are the SDK's (`error.name`). */
type Rule = readonly [names: readonly string[], verdict: Verdict, text?: RegExp];

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
  const verdict = rule?.[1] ?? otherwise;
  return failed(verdict.result, verdict.reason, `${service.toUpperCase()} did not accept the message: ${name}`, {
    ...verdict,
    code: errorCode(error),
  });
};
