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

it.each([
  ['MessageRejected', 'Address blacklisted.', rejected],
  ['MessageRejected', 'Address is on the suppression list for your account.', rejected],
  ['MessageRejected', 'Email address is not verified. The following identities failed the check', misconfigured],
  [
    'MessageRejected',
    'Sending paused for this account. For more information, please check the inbox of the email address associated with your AWS account.',
    misconfigured,
  ],
  ['MessageRejected', 'Sending suspended for this account.', misconfigured],
  [
    'MessageRejected',
    'Email address is not verified. The following identities failed: blacklisted@a.example',
    misconfigured,
  ],
  ['MessageRejected', 'Address blacklisted: sandbox@example.com', rejected],
  ['MessageRejected', 'Email sending for the configuration set notifications is disabled.', misconfigured],
  ['MessageRejected', 'The message contains a virus.', unrecognized],
  ['InvalidParameterValue', "Missing final '@domain'", rejected],
  ['InvalidParameterValue', 'Illegal address', rejected],
  ['InvalidParameterValue', 'Local address contains dot-dot', rejected],
  ['InvalidParameterValue', 'Domain ends with dot', rejected],
  ['InvalidParameterValue', 'Missing local name', rejected],
  ['InvalidParameterValue', 'Invalid Source address', misconfigured],
  ['InvalidParameterValue', 'Invalid reply-to address', misconfigured],
  ['InvalidParameterValue', 'Mail FROM domain is not verified.', misconfigured],
  ['InvalidParameterValue', 'Invalid tag value <a b>, only alphanumeric ASCII characters are allowed', misconfigured],
  ['InvalidParameterValue', 'The configuration set name is invalid', misconfigured],
  ['InvalidParameterValue', 'Message length is more than 10485760 bytes long', misconfigured],
  ['ValidationError', "Value null at 'source' failed to satisfy constraint", misconfigured],
  ['ConfigurationSetDoesNotExist', 'none', misconfigured],
  ['FromEmailAddressNotVerifiedException', 'no', misconfigured],
  ['ProductionAccessNotGrantedException', 'no', misconfigured],
  ['AccountSendingPausedException', 'paused', misconfigured],
  ['ConfigurationSetSendingPausedException', 'paused', misconfigured],
  ['MailFromDomainNotVerifiedException', 'not verified', misconfigured],
  ['ConfigurationSetDoesNotExistException', 'none', misconfigured],
  ['Throttling', 'Maximum sending rate exceeded.', throttled],
  ['ThrottlingException', 'Rate exceeded', throttled],
  ['Throttling', 'Daily message quota exceeded.', quotaExceeded],
])('an SES error has the outcome of its name and message: %s "%s"', (name, message, outcome) => {
  expect(awsFailure('ses', awsError(name, message))).toMatchObject(outcome);
});

describe('an SNS error', () => {
  it.each([
    ['InvalidParameterException', misconfigured],
    ['InvalidParameterValueException', misconfigured],
    ['OptedOutException', rejected],
    ['EndpointDisabledException', misconfigured],
    ['PlatformApplicationDisabledException', misconfigured],
    ['AuthorizationErrorException', misconfigured],
    ['InvalidSecurityException', misconfigured],
    ['NotFoundException', misconfigured],
    ['UserErrorException', misconfigured],
    ['ValidationException', misconfigured],
    ['KMSAccessDeniedException', misconfigured],
    ['KMSDisabledException', misconfigured],
    ['KMSInvalidStateException', misconfigured],
    ['KMSNotFoundException', misconfigured],
    ['KMSOptInRequired', misconfigured],
    ['ThrottledException', throttled],
    ['Throttling', throttled],
    ['ThrottlingException', throttled],
  ])('has the outcome of its name: %s', (name, outcome) => {
    expect(awsFailure('sns', awsError(name))).toMatchObject(outcome);
  });

  it.each([
    ['Invalid parameter: PhoneNumber Reason: +120255501 is not valid to publish to', rejected],
    ['Phone number is opted out', rejected],
    ['Invalid parameter: The sender ID is not valid for this number', misconfigured],
    ['Invalid parameter: AWS.SNS.SMS.SenderID', misconfigured],
    ['Invalid parameter: AWS.MM.SMS.OriginationNumber', misconfigured],
    ['No origination identities available to send', misconfigured],
    ['Invalid parameter: AWS.SNS.SMS.MaxPrice is not a number', misconfigured],
    ['Invalid parameter: TopicArn', misconfigured],
    ['Invalid parameter: Subject', misconfigured],
  ])('about an invalid parameter is caused by the recipient only if the number is invalid: %s', (message, outcome) => {
    for (const name of ['InvalidParameterException', 'InvalidParameterValueException']) {
      expect(awsFailure('sns', awsError(name, message))).toMatchObject(outcome);
    }
  });
});

describe('an error of SES or SNS', () => {
  it.each([
    ['AccessDenied', misconfigured],
    ['AccessDeniedException', misconfigured],
    ['ExpiredToken', misconfigured],
    ['ExpiredTokenException', misconfigured],
    ['InvalidClientTokenId', misconfigured],
    ['OptInRequired', misconfigured],
    ['SignatureDoesNotMatch', misconfigured],
    ['UnrecognizedClientException', misconfigured],
    ['InternalFailure', unrecognized],
    ['KMSThrottlingException', unrecognized],
    ['NewException', unrecognized],
  ])(
    'is one of the sender if it is one of the account, or is retried, and never blamed on the recipient: %s',
    (name, outcome) => {
      for (const service of ['ses', 'sns'] as const) {
        expect(awsFailure(service, awsError(name, 'The address of the number'))).toMatchObject(outcome);
      }
    },
  );

  it.each(['TimeoutError', 'Error', 'AbortError'])(
    'without a response is a transient failure of the service: %s',
    (name) => {
      const error = Object.assign(new Error('connect ECONNREFUSED 10.0.0.1'), { name, code: 'ECONNREFUSED' });
      for (const service of ['ses', 'sns'] as const)
        expect(awsFailure(service, error)).toMatchObject({ ...unreachable, code: 'ECONNREFUSED' });
    },
  );
});

describe('the explanation', () => {
  it('contains the name of the error, which is also its code for the log, and not its message', () => {
    for (const [service, name] of [
      ['ses', 'MessageRejected'],
      ['sns', 'OptedOutException'],
    ] as const) {
      const explanation = `${service.toUpperCase()} did not accept the message: ${name}`;
      expect(awsFailure(service, awsError(name))).toMatchObject({ explanation, code: name });
    }
  });

  it('has a default name if the thrown value is not an error', () => {
    expect(awsFailure('sns', 'text of ops@example.com')).toMatchObject({
      ...unreachable,
      explanation: 'SNS did not accept the message: Error',
    });
  });
});
