import { createSnsClient } from '../../adapters/sns.ts';
import { type AttemptOutcome, type Failure, failed } from '../../domain/attempt-outcome.ts';
import { awsFailure } from '../../domain/aws-outcome.ts';
import { sendTimeoutMs, type Transport } from '../../domain/transport.ts';
import type { ParsedEnvironment } from '../../environment.ts';
import { codeSms } from '../codes/code-message.ts';
import type { CodeTransport } from '../codes/send-code.ts';
import { limitOfAlert, type MessageLimits } from '../daily-limit.ts';
import { logAccepted, logCode } from './accepted-log.ts';
import { smsMessage } from './sms-message.ts';
import { summarySms } from './summary-message.ts';

/** The environment variables of the SMS sender, parsed. The account's SNS settings apply to those that are absent. */
export type SmsEnvironment = Pick<
  ParsedEnvironment<'send-sms'>,
  'SMS_COUNTRIES' | 'SMS_SENDER_ID' | 'SMS_ORIGINATION_NUMBER' | 'SMS_MAX_PRICE_USD'
>;

const accepted: AttemptOutcome = { result: 'delivered', explanation: 'Success: Text message accepted for delivery' };

/** Creates what sends a text, and what tells why none can be sent to a phone number. */
const createSending = (environment: SmsEnvironment) => {
  const { publishSms } = createSnsClient();
  const { SMS_COUNTRIES: allowedPrefixes } = environment;
  const settings = {
    senderId: environment.SMS_SENDER_ID,
    originationNumber: environment.SMS_ORIGINATION_NUMBER,
    maxPriceUsd: environment.SMS_MAX_PRICE_USD,
  };
  return {
    refusal: (phoneNumber: string): Failure | undefined =>
      allowedPrefixes.length === 0 || allowedPrefixes.some((prefix) => phoneNumber.startsWith(prefix))
        ? undefined
        : failed('permanent', 'country_not_allowed', 'Texts to this country are not allowed', { nothingSent: true }),

    send: async (
      phoneNumber: string,
      text: string,
      timeLeft: () => number,
      logSent: () => void,
    ): Promise<AttemptOutcome> => {
      try {
        await publishSms(phoneNumber, text, settings, sendTimeoutMs(timeLeft));
        logSent();
        return accepted;
      } catch (error) {
        return awsFailure('sns', error);
      }
    },
  };
};

/** Creates the transport of `sms` notifications. Delivered means accepted by SNS. */
export const createSmsTransport = (environment: SmsEnvironment, limits: MessageLimits): Transport => {
  const { refusal, send } = createSending(environment);
  return async (alert, { phone_number: phoneNumber = '' }) => {
    const { event, summary, timeLeft } = alert;
    const text = () => (summary ? summarySms(summary) : smsMessage(event));
    return (
      refusal(phoneNumber) ??
      limitOfAlert(limits, alert)(event.tenant_id, () =>
        send(phoneNumber, text(), timeLeft, () => logAccepted('sms accepted', alert)),
      )
    );
  };
};

/** Creates the transport of codes to phone numbers. */
export const createSmsCodeTransport = (environment: SmsEnvironment): CodeTransport => {
  const { refusal, send } = createSending(environment);
  return async (code, { tenant, address }, timeLeft) =>
    refusal(address) ?? send(address, codeSms(tenant, code), timeLeft, () => logCode('sms', tenant));
};
