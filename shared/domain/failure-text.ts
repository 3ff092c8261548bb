import type { FailureReason } from '../contracts/outcomes.ts';
import { SEND_TIMEOUT_MS } from './timeouts.ts';

/** A function, so that bundles that need no texts have none: esbuild keeps the template. */
const reasonTexts = (): Record<FailureReason, string> => ({
  http_status: 'the destination returned an unexpected status',
  network_error: 'the connection failed',
  timeout: `no response within ${SEND_TIMEOUT_MS / 1000} seconds`,
  blocked_address: 'the address is not public',
  rejected: 'the message was rejected',
  throttled: 'the destination or AWS limits the rate of messages',
  type_without_summaries: 'the notification has got a type that has no summaries',
  tenant_limit_exceeded: 'the daily limit of the account is reached',
  aws_quota_exceeded: 'the daily quota of the service is reached',
  country_not_allowed: 'the service sends no SMS to this country',
  circuit_open: 'the destination did not respond to earlier requests, so sending is paused',
  no_feed_configured: 'the service has no Atom feed',
  no_contacts: 'the account has no technical contacts',
  opted_out: 'the recipient has opted out of the emails of the account',
  complained: 'the recipient has reported an email of the account as spam',
  email_off: 'the operators have turned off the emails of the account',
  sender_misconfigured: 'the service is not set up to send messages of this type',
  attempts_exhausted: 'all attempts failed',
  expired: 'the alert expired, 24 hours after its first attempt or after four days without one that counts',
  malformed: 'the message is malformed',
  too_large: 'the message is too large',
  too_many_notifications: 'the notification plan lists too many notifications',
  bounced: 'an email to the recipient bounced',
});

/** Returns a text such as `the destination returned an unexpected status (HTTP 503)`. */
export const failureText = (reason: FailureReason | undefined, status: number | undefined): string => {
  const text = reason === undefined ? 'unknown' : reasonTexts()[reason];
  return status === undefined ? text : `${text} (HTTP ${status})`;
};

const texts: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'the certificate has expired',
  CERT_NOT_YET_VALID: 'the certificate is not yet valid',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'the certificate is self-signed',
  EAI_AGAIN: 'the host name could not be resolved',
  ECONNCLOSED: 'the connection was closed without a response',
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'the connection was reset',
  EHOSTUNREACH: 'the host is unreachable',
  ENETUNREACH: 'the network is unreachable',
  ENOTFOUND: 'the host name does not exist',
  EPIPE: 'the connection was reset',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate is for another host name',
  ETIMEDOUT: 'the connection timed out',
  SELF_SIGNED_CERT_IN_CHAIN: 'the certificate chain contains a self-signed certificate',
  UNABLE_TO_GET_ISSUER_CERT: 'the issuer of the certificate is unknown',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'the issuer of the certificate is unknown',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'the certificate chain is incomplete',
};

/** Codes of which only the first characters are known, such as `HPE_INVALID_CONSTANT` of Node.js. */
const prefixes: readonly [prefix: string, text: string][] = [
  ['HPE_', 'the response is not valid HTTP'],
  ['CERT_', 'the certificate is invalid'],
  ['ERR_SSL_', 'the TLS handshake failed'],
  ['ERR_TLS_', 'the TLS handshake failed'],
  ['EPROTO', 'the TLS handshake failed'],
];

/** Returns a text such as `connection refused`. */
export const networkErrorText = (code: string | undefined): string => {
  if (code === undefined) return 'the connection failed';
  const known = Object.hasOwn(texts, code) ? texts[code] : undefined;
  return known ?? prefixes.find(([prefix]) => code.startsWith(prefix))?.[1] ?? 'the connection failed';
};

/** Of Node.js or the AWS SDK. It excludes free text, which may be confidential. */
const CODE = /^[A-Za-z][\w.]{0,63}$/;

/** The code is safe to log. */
export const errorCode = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' && CODE.test(error.code)
    ? error.code
    : undefined;
