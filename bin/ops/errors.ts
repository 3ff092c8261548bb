/** An expected error whose message is a complete explanation. The command exits with 1. */
export class OperationError extends Error {
  override name = 'OperationError';
}

/** Invalid arguments. The command exits with 2. */
export class UsageError extends Error {
  override name = 'UsageError';
}

/** Returns what to do about an error of the AWS SDK, or else the first line of the error's message. */
export const errorSummary = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  const text = messageOf(error).split('\n', 1)[0]?.trim() ?? '';
  if (error instanceof OperationError || error instanceof UsageError) return text;
  const explanation = explainAwsError(error);
  if (explanation !== undefined) return explanation;
  return error.name === 'Error' ? text : `${error.name}: ${text || 'no message.'}`;
};

/** A connection that fails to every address of a host is an AggregateError with an empty message. */
const messageOf = (error: Error): string => {
  if (error instanceof AggregateError && error.message === '') {
    return error.errors.map((each) => (each instanceof Error ? each.message : String(each))).join(', ');
  }
  return error.message;
};

const EXPIRED = /^(ExpiredToken(Exception)?|RequestExpired|TokenRefreshRequired)$/;
const REJECTED =
  /^(AuthFailure|IncompleteSignature|Invalid(AccessKeyId|ClientTokenId|SignatureException)|MissingAuthenticationToken|SignatureDoesNotMatch|UnrecognizedClientException)$/;
const DENIED = /^(AccessDenied(Exception)?|AuthorizationError)$/;
const NOT_FOUND = /^(QueueDoesNotExist|ResourceNotFoundException|TableNotFoundException)$/;

const SET_CREDENTIALS = 'set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY';

/** Returns what to do about a missing region, or missing, expired, rejected or insufficient credentials. */
export const explainAwsError = (error: Error): string | undefined => {
  const { name, message } = error;
  const [firstLine = ''] = message.split('\n', 1);
  if (message === 'Region is missing') {
    return 'No AWS region is set: set AWS_REGION, or select a profile that has a region with AWS_PROFILE.';
  }
  if (name === 'CredentialsProviderError') return explainMissingCredentials(firstLine);
  if (EXPIRED.test(name)) {
    return 'The AWS credentials have expired: sign in again, for example with `aws sso login`, or set new ones.';
  }
  if (REJECTED.test(name)) {
    return `AWS rejects the credentials (${name}): ${SET_CREDENTIALS}, and AWS_SESSION_TOKEN only if they are temporary.`;
  }
  if (DENIED.test(name)) return explainDenial(firstLine);
  if (NOT_FOUND.test(name)) {
    return `AWS has no such resource (${name}): the credentials may be of another account (check AWS_PROFILE), or the outputs file is out of date.`;
  }
  return explainConnectionError(firstLine);
};

const explainMissingCredentials = (message: string): string => {
  const profile = process.env.AWS_PROFILE;
  // The message of the last provider; a more specific one, such as an expired SSO session, is complete.
  if (!message.includes('any providers')) return `The AWS credentials cannot be loaded: ${message}`;
  return profile === undefined
    ? `There are no AWS credentials: ${SET_CREDENTIALS}.`
    : `There are no AWS credentials for the profile ${profile}: ${SET_CREDENTIALS}.`;
};

const explainDenial = (message: string): string => {
  const [, action, resource] = /not authorized to perform: (\S+)(?: on resource: (\S+))?/.exec(message) ?? [];
  if (action === undefined) return `AWS denies the request: ${message}`;
  const where = resource === undefined ? '' : ` on ${resource}`;
  return `AWS denies ${action}${where}: use credentials with this permission.`;
};

const explainConnectionError = (message: string): string | undefined => {
  const endpoint = process.env.AWS_ENDPOINT_URL;
  if (endpoint && URL.canParse(endpoint) && message.includes(new URL(endpoint).host)) {
    return `No connection to ${endpoint}, the value of AWS_ENDPOINT_URL (${message}): unset it to use AWS.`;
  }
  const [, host] = /getaddrinfo \w+ (\S+\.amazonaws\.com\S*)/.exec(message) ?? [];
  return host && `${host} cannot be resolved: check the region (AWS_REGION) and the network.`;
};
