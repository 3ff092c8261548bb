import type { FailureReason } from '../contracts/outcomes.ts';
import { SEND_TIMEOUT_MS } from './timeouts.ts';

const reasonTexts: Record<FailureReason, string> = {
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
};

/** Returns a text such as `the destination returned an unexpected status (HTTP 503)`. */
export const failureText = (reason: FailureReason | undefined, status: number | undefined): string => {
  const text = reason === undefined ? 'unknown' : reasonTexts[reason];
  return status === undefined ? text : `${text} (HTTP ${status})`;
};
