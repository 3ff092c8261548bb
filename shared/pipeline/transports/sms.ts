import { createSnsClient } from '../../adapters/sns.ts';
import { type AttemptOutcome, failed } from '../../domain/attempt-outcome.ts';
import type { Transport } from '../../domain/transport.ts';
import type { ParsedEnvironment } from '../../environment.ts';
import { limitOfAlert, type MessageLimits } from '../daily-limit.ts';
import type { SharedRate } from '../shared-rate.ts';
import { logAccepted, sendWithAws } from './aws-call.ts';
import { smsMessage, summarySms } from './sms-message.ts';

export type SmsEnvironment = Pick<
  ParsedEnvironment<'send-sms'>,
  'SMS_COUNTRIES' | 'SMS_SENDER_ID' | 'SMS_ORIGINATION_NUMBER' | 'SMS_MAX_PRICE_USD'
>;

/** Creates the transport of `sms` notifications. Delivered means accepted by SNS. */
export const createSmsTransport = (
  environment: SmsEnvironment,
  limits: MessageLimits,
  sharedRate: Pick<SharedRate, 'send'>,
): Transport => {
  const { publishSms } = createSnsClient();
  const { SMS_COUNTRIES: allowedPrefixes } = environment;
  const settings = {
    senderId: environment.SMS_SENDER_ID,
    originationNumber: environment.SMS_ORIGINATION_NUMBER,
    maxPriceUsd: environment.SMS_MAX_PRICE_USD,
  };
  const isAllowed = (phoneNumber: string) =>
    allowedPrefixes.length === 0 || allowedPrefixes.some((prefix) => phoneNumber.startsWith(prefix));
  return async (alert, { phone_number: phoneNumber = '' }) => {
    const { event, summary } = alert;
    if (!isAllowed(phoneNumber)) {
      return failed('permanent', 'country_not_allowed', 'Texts to this country are not allowed');
    }
    const send = async (): Promise<AttemptOutcome> => {
      const publish = (timeoutMs: number) =>
        publishSms(phoneNumber, summary ? summarySms(summary) : smsMessage(alert), settings, timeoutMs);
      const failure = await sendWithAws('sns', alert, publish);
      if (failure) return failure;
      logAccepted('sms accepted', alert);
      return { result: 'delivered', explanation: 'Success: Text message accepted for delivery' };
    };
    return limitOfAlert(limits, alert)(event.tenant_id, () => sharedRate.send(alert, send));
  };
};
