import { describe, expect, it } from 'vitest';
import { awsFailure } from '../../shared/domain/aws-outcome.ts';

/** An error that the service gave, as the SDK throws it. */
const awsError = (name: string, message = 'text of ops@example.com in account 123456789012') =>
  Object.assign(new Error(message), { name, $fault: 'client' });

const rejected = { result: 'permanent', reason: 'rejected', cause: 'destination' };
const ourFault = { result: 'transient', reason: 'sender_misconfigured', cause: 'service' };
const ourRate = {
  result: 'throttled',
  reason: 'throttled',
  cause: 'service',
  countsAsAttempt: false,
  retryAfterMs: 5_000,
};
const ourQuota = { ...ourRate, reason: 'aws_quota_exceeded', retryAfterMs: 3_600_000 };
const unknown = { result: 'transient', reason: 'rejected', cause: 'service' };
const unreachable = { result: 'transient', reason: 'network_error', cause: 'service' };

describe('what SES refuses', () => {
  it.each([
    ['MessageRejected', 'Address blacklisted.', rejected],
    ['MessageRejected', 'Email address is not verified. The following identities failed the check', ourFault],
    ['InvalidParameterValue', 'Missing final @domain', rejected],
    ['ValidationError', 'bad', rejected],
    ['AccountSendingPausedException', 'paused', ourFault],
    ['ConfigurationSetSendingPausedException', 'paused', ourFault],
    ['MailFromDomainNotVerifiedException', 'not verified', ourFault],
    ['ConfigurationSetDoesNotExistException', 'none', ourFault],
    ['AccessDenied', 'User is not authorized to perform', ourFault],
    ['AccessDeniedException', 'User is not authorized to perform', ourFault],
    ['Throttling', 'Maximum sending rate exceeded.', ourRate],
    ['ThrottlingException', 'Rate exceeded', ourRate],
    ['Throttling', 'Daily message quota exceeded.', ourQuota],
    ['InternalFailure', 'oops', unknown],
  ])('%s "%s"', (name, message, verdict) => {
    expect(awsFailure('ses', awsError(name, message))).toMatchObject(verdict);
  });
});

describe('what SNS refuses', () => {
  it.each([
    ['InvalidParameterException', rejected],
    ['InvalidParameterValueException', rejected],
    ['OptedOutException', rejected],
    ['EndpointDisabledException', rejected],
    ['AuthorizationErrorException', ourFault],
    ['ThrottledException', ourRate],
    ['Throttling', ourRate],
    ['ThrottlingException', ourRate],
    ['InternalErrorException', unknown],
    ['KMSThrottlingException', unknown],
  ])('%s', (name, verdict) => {
    expect(awsFailure('sns', awsError(name))).toMatchObject(verdict);
  });
});

describe('a service that gives no answer', () => {
  it.each(['TimeoutError', 'Error', 'AbortError'])('was not reached, which is ours and passes: %s', (name) => {
    for (const service of ['ses', 'sns'] as const) {
      expect(awsFailure(service, Object.assign(new Error('ops@example.com'), { name }))).toMatchObject(unreachable);
    }
  });
});

describe('a connection to a service that fails', () => {
  it('is known by its code', () => {
    const error = Object.assign(new Error('connect ECONNREFUSED 10.0.0.1'), { code: 'ECONNREFUSED' });
    expect(awsFailure('ses', error)).toMatchObject({ ...unreachable, code: 'ECONNREFUSED' });
  });
});

describe('what the tester is told', () => {
  it('names the error and never its text, which may hold the recipient or our account', () => {
    expect(awsFailure('ses', awsError('MessageRejected')).explanation).toBe(
      'SES did not accept the message: MessageRejected',
    );
    expect(awsFailure('sns', awsError('OptedOutException')).explanation).toBe(
      'SNS did not accept the message: OptedOutException',
    );
  });

  it('is something even where what was thrown is no error', () => {
    expect(awsFailure('sns', 'text of ops@example.com')).toMatchObject({
      ...unreachable,
      explanation: 'SNS did not accept the message: Error',
    });
  });
});
