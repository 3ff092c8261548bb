import { PublishCommand, SNSClient } from '@aws-sdk/client-sns';
import { onceConfig } from './aws-client.ts';

/** Settings of an SMS. The defaults of the account apply to absent settings. */
export type SmsSettings = {
  senderId?: string | undefined;
  originationNumber?: string | undefined;
  maxPriceUsd?: string | undefined;
};

const attribute = (DataType: 'String' | 'Number', name: string, StringValue: string | undefined) =>
  StringValue === undefined ? {} : { [name]: { DataType, StringValue } };

const smsAttributes = ({ senderId, originationNumber, maxPriceUsd }: SmsSettings) => ({
  ...attribute('String', 'AWS.SNS.SMS.SMSType', 'Transactional'),
  ...attribute('String', 'AWS.SNS.SMS.SenderID', senderId),
  ...attribute('String', 'AWS.MM.SMS.OriginationNumber', originationNumber),
  ...attribute('Number', 'AWS.SNS.SMS.MaxPrice', maxPriceUsd),
});

/** Without SDK retries: SNS doesn't support idempotency tokens (docs/decisions/outbound.md#aws-clients). */
export const createSnsClient = (client: SNSClient = new SNSClient(onceConfig())) => ({
  publishSms: async (phoneNumber: string, text: string, settings: SmsSettings, timeoutMs: number): Promise<void> => {
    await client.send(
      new PublishCommand({ PhoneNumber: phoneNumber, Message: text, MessageAttributes: smsAttributes(settings) }),
      { requestTimeout: timeoutMs },
    );
  },

  publishToTopic: async (
    topicArn: string,
    { subject, text }: { subject: string; text: string },
    timeoutMs: number,
  ): Promise<void> => {
    await client.send(new PublishCommand({ TopicArn: topicArn, Subject: subject, Message: text }), {
      requestTimeout: timeoutMs,
    });
  },
});
