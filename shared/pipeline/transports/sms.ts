import { PublishCommand, SNSClient } from '@aws-sdk/client-sns';
import { onceConfig } from '../../adapters/aws-client.ts';
import { failed } from '../../domain/attempt-outcome.ts';
import { awsFailure } from '../../domain/aws-outcome.ts';
import { smsMessage } from '../../domain/sms-message.ts';
import { sendTimeoutMs, type Transport } from '../../domain/transport.ts';
import type { DailyLimit } from '../daily-limit.ts';

/** The settings of texts: each is left to the account's own where it is absent. */
export type SmsEnvironment = {
  SMS_SENDER_ID?: string | undefined;
  SMS_ORIGINATION_NUMBER?: string | undefined;
  SMS_MAX_PRICE_USD?: string | undefined;
  /** What a number must start with, one of these; any number where there are none. */
  SMS_COUNTRIES: readonly string[];
};

const attribute = (DataType: 'String' | 'Number', name: string, StringValue: string | undefined) =>
  StringValue === undefined ? {} : { [name]: { DataType, StringValue } };

/** Delivers to an `sms` notification. Delivered means that SNS accepted the text. */
export const createSmsTransport = (environment: SmsEnvironment, dailyLimit: DailyLimit): Transport => {
  const client = new SNSClient(onceConfig);
  const attributes = {
    ...attribute('String', 'AWS.SNS.SMS.SMSType', 'Transactional'),
    ...attribute('String', 'AWS.SNS.SMS.SenderID', environment.SMS_SENDER_ID),
    ...attribute('String', 'AWS.MM.SMS.OriginationNumber', environment.SMS_ORIGINATION_NUMBER),
    ...attribute('Number', 'AWS.SNS.SMS.MaxPrice', environment.SMS_MAX_PRICE_USD),
  };
  const isAllowed = (number: string) =>
    environment.SMS_COUNTRIES.length === 0 || environment.SMS_COUNTRIES.some((country) => number.startsWith(country));
  return async ({ event, timeLeft }, { phone_number: PhoneNumber = '' }) => {
    if (!isAllowed(PhoneNumber)) {
      return failed('permanent', 'country_not_allowed', 'Texts to this country are not allowed');
    }
    const overLimit = await dailyLimit(event.tenant_id);
    if (overLimit) return overLimit;
    try {
      await client.send(
        new PublishCommand({ PhoneNumber, Message: smsMessage(event), MessageAttributes: attributes }),
        { requestTimeout: sendTimeoutMs(timeLeft) },
      );
      return { result: 'delivered', explanation: 'Success: Text message accepted for delivery' };
    } catch (error) {
      return awsFailure('sns', error);
    }
  };
};
