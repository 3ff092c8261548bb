import { type Failure, failed } from './attempt-outcome.ts';
import { errorCode } from './failure-text.ts';
import { HOUR_MS } from './time.ts';

type FailureKind = Pick<Failure, 'result' | 'reason' | 'cause' | 'retryAfterMs' | 'countsAsAttempt'>;

const rejected: FailureKind = { result: 'permanent', reason: 'rejected', cause: 'destination' };
const misconfigured: FailureKind = { result: 'transient', reason: 'sender_misconfigured', cause: 'service' };
const throttled: FailureKind = {
  result: 'throttled',
  reason: 'throttled',
  cause: 'service',
  countsAsAttempt: false,
  retryAfterMs: 5_000,
};
const dailyQuotaExceeded: FailureKind = { ...throttled, reason: 'aws_quota_exceeded', retryAfterMs: HOUR_MS };
const unrecognized: FailureKind = { result: 'transient', reason: 'rejected', cause: 'service' };
const unreachable: FailureKind = { result: 'transient', reason: 'network_error', cause: 'service' };

/** Matches an error by `error.name`, and by its message if there is a pattern. The first matching rule applies. */
type Rule = readonly [name: RegExp, kind: FailureKind, message?: RegExp];

/** The credentials or the account of the service are not accepted. */
const accessError =
  /^(?:AccessDenied|ExpiredToken|IncompleteSignature|InvalidClientTokenId|MissingAuthenticationToken|OptInRequired|SignatureDoesNotMatch|UnrecognizedClient)(?:Exception)?$/;

const throttling = /^Thrott(?:led|ling)(?:Exception)?$/;
const invalidSnsParameter = /^InvalidParameter(?:Value)?Exception$/;

/**
 * Only errors of the recipient are permanent (docs/decisions/formats.md#ses-and-sns-outcomes). SES and SNS use the same
 * names for errors of the operators, so the message decides. Unmatched errors are transient.
 */
const awsRules = {
  ses: [
    [/^MessageRejected$/, rejected, /^address (is )?(blacklisted|on .*suppression list)/i],
    [
      /^(?:MessageRejected|InvalidParameterValue)$/,
      misconfigured,
      /not verified|paused|suspended|disabled|sandbox|source|sender|mail from|reply|return.?path|configuration set|\btag/i,
    ],
    [/^InvalidParameterValue$/, rejected, /address|domain|local name/i],
    [/^(?:InvalidParameterValue|ValidationError)$/, misconfigured],
    [/^ConfigurationSetDoesNotExist|(?:SendingPaused|NotVerified|AccessNotGranted)Exception$/, misconfigured],
    [accessError, misconfigured],
    [throttling, dailyQuotaExceeded, /daily/i],
    [throttling, throttled],
  ],
  sns: [
    [invalidSnsParameter, misconfigured, /originat|sender ?id|max ?price|topic|not verified|sandbox/i],
    [invalidSnsParameter, rejected, /number/i],
    [/^OptedOutException$/, rejected],
    [invalidSnsParameter, misconfigured],
    [/^(?:AuthorizationError|InvalidSecurity|NotFound|UserError|Validation)Exception$/, misconfigured],
    [/^(?:Endpoint|KMS|PlatformApplication)DisabledException$/, misconfigured],
    [/^KMS(?:AccessDenied|InvalidState|NotFound|OptInRequired)/, misconfigured],
    [accessError, misconfigured],
    [throttling, throttled],
  ],
} as const satisfies Record<string, readonly Rule[]>;

/** The explanation has only the name of the error, because its message may contain the recipient or the account. */
export const awsFailure = (service: keyof typeof awsRules, error: unknown): Failure => {
  const { name, message } = error instanceof Error ? error : { name: 'Error', message: '' };
  const rules: readonly Rule[] = awsRules[service];
  // The SDK sets `$fault` on error responses of the service.
  const isResponse = error instanceof Error && '$fault' in error;
  const rule = rules.find(([names, , pattern]) => names.test(name) && (pattern?.test(message) ?? true));
  const kind = rule?.[1] ?? (isResponse ? unrecognized : unreachable);
  return failed(kind.result, kind.reason, `${service.toUpperCase()} did not accept the message: ${name}`, {
    ...kind,
    // SES and SNS document these errors as rejections. Others, such as one of the server, may follow a send.
    nothingSent: isResponse && rule !== undefined,
    code: errorCode(error) ?? (isResponse ? name : undefined),
  });
};
