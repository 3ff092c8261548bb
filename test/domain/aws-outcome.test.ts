import { describe, expect, it } from 'vitest';
import { awsFailure } from '../../shared/domain/aws-outcome.ts';

/** An error response of the service, as the SDK throws it. */
const awsError = (name: string, message = 'text of ops@example.com in account 123456789012') =>
  Object.assign(new Error(message), { name, $fault: 'client' });

const rejected = { result: 'permanent', reason: 'rejected', cause: 'destination' };
const misconfigured = { result: 'transient', reason: 'sender_misconfigured', cause: 'service' };
const throttled = {
  result: 'throttled',
  reason: 'throttled',
  cause: 'service',
  countsAsAttempt: false,
  retryAfterMs: 5_000,
};
const quotaExceeded = { ...throttled, reason: 'aws_quota_exceeded', retryAfterMs: 3_600_000 };
const unrecognized = { result: 'transient', reason: 'rejected', cause: 'service' };
const unreachable = { result: 'transient', reason: 'network_error', cause: 'service' };

describe('an SES error', () => {
  it.each([
    ['MessageRejected', 'Address blacklisted.', rejected],
    ['MessageRejected', 'Email address is not verified. The following identities failed the check', misconfigured],
    ['InvalidParameterValue', 'Missing final @domain', rejected],
    ['ValidationError', 'bad', rejected],
    ['AccountSendingPausedException', 'paused', misconfigured],
    ['ConfigurationSetSendingPausedException', 'paused', misconfigured],
    ['MailFromDomainNotVerifiedException', 'not verified', misconfigured],
    ['ConfigurationSetDoesNotExistException', 'none', misconfigured],
    ['AccessDenied', 'User is not authorized to perform', misconfigured],
    ['AccessDeniedException', 'User is not authorized to perform', misconfigured],
    ['Throttling', 'Maximum sending rate exceeded.', throttled],
    ['ThrottlingException', 'Rate exceeded', throttled],
    ['Throttling', 'Daily message quota exceeded.', quotaExceeded],
    ['InternalFailure', 'oops', unrecognized],
  ])('has the outcome of its name and message: %s "%s"', (name, message, outcome) => {
    expect(awsFailure('ses', awsError(name, message))).toMatchObject(outcome);
  });
});

describe('an SNS error', () => {
  it.each([
    ['InvalidParameterException', rejected],
    ['InvalidParameterValueException', rejected],
    ['OptedOutException', rejected],
    ['EndpointDisabledException', rejected],
    ['AuthorizationErrorException', misconfigured],
    ['ThrottledException', throttled],
    ['Throttling', throttled],
    ['ThrottlingException', throttled],
    ['InternalErrorException', unrecognized],
    ['KMSThrottlingException', unrecognized],
  ])('has the outcome of its name: %s', (name, outcome) => {
    expect(awsFailure('sns', awsError(name))).toMatchObject(outcome);
  });
});

describe('a call without a response', () => {
  it.each(['TimeoutError', 'Error', 'AbortError'])('is a transient failure of the service: %s', (name) => {
    for (const service of ['ses', 'sns'] as const) {
      expect(awsFailure(service, Object.assign(new Error('ops@example.com'), { name }))).toMatchObject(unreachable);
    }
  });
});

describe('a failed connection', () => {
  it('has its error code in the outcome', () => {
    const error = Object.assign(new Error('connect ECONNREFUSED 10.0.0.1'), { code: 'ECONNREFUSED' });
    expect(awsFailure('ses', error)).toMatchObject({ ...unreachable, code: 'ECONNREFUSED' });
  });
});

describe('the explanation', () => {
  it('contains the name of the error, not its message', () => {
    expect(awsFailure('ses', awsError('MessageRejected')).explanation).toBe(
      'SES did not accept the message: MessageRejected',
    );
    expect(awsFailure('sns', awsError('OptedOutException')).explanation).toBe(
      'SNS did not accept the message: OptedOutException',
    );
  });

  it('has a default name if the thrown value is not an error', () => {
    expect(awsFailure('sns', 'text of ops@example.com')).toMatchObject({
      ...unreachable,
      explanation: 'SNS did not accept the message: Error',
    });
  });
});
