import { notificationTypeIds } from '../../../shared/contracts/notification-types.ts';
import { emailTags } from '../../../shared/domain/email-event.ts';
import { newToken } from '../../../shared/domain/token.ts';
import { type FunctionName, senderName } from '../../../shared/environment.ts';
import { apiRequest } from '../../support/api-request.ts';
import { alarmEvent, deliveryMessage } from '../../support/events.ts';

/** The ID of the token in the list of tokens of the AWS stub. */
export const LISTED_TOKEN_ID = 'tk01M7W36KGQDJ8S2D76FCWK3Z00';

/** Returns the ID of a notification in the AWS stub: its last digit is the index of its type. */
const notificationOf = (typeIndex: number): string => `nt01M7W36KGQDJ8S2D76FCWK3Z0${typeIndex}`;
const webhookId = notificationOf(notificationTypeIds.indexOf('webhook'));

const batch = (body: string) => ({
  Records: [
    {
      messageId: 'message',
      receiptHandle: 'handle',
      body,
      attributes: { ApproximateReceiveCount: '1', SentTimestamp: String(Date.now()), MessageGroupId: 'acme' },
      messageAttributes: {},
      eventSourceARN: 'arn:aws:sqs:us-east-1:111111111111:FirstAttempts',
    },
  ],
});

const request = (destination: string) =>
  apiRequest({
    headers: { 'x-auth-token': newToken() },
    pathParameters: { notificationId: webhookId, notificationTypeId: 'webhook', tokenId: LISTED_TOKEN_ID },
    body: JSON.stringify({
      label: 'First',
      type: 'webhook',
      details: { url: destination },
      technical_contacts: ['first@example.com'],
      role: 'observer',
      // For redeliver; the other operations ignore it.
      since: 0,
    }),
  });

const bounce = () => {
  const tags = Object.entries(emailTags(alarmEvent(), webhookId)).map(([name, value]) => [name, [value]]);
  return {
    source: 'aws.ses',
    detail: { eventType: 'Bounce', mail: { messageId: 'email', tags: Object.fromEntries(tags) } },
  };
};

/** Returns an event that the function processes completely and without errors. */
export const firstEvent = (name: FunctionName, destination: string): unknown => {
  const typeIndex = notificationTypeIds.findIndex((type) => senderName(type) === name);
  if (typeIndex >= 0) return batch(deliveryMessage(notificationOf(typeIndex), alarmEvent()));
  if (name === 'dispatch-alarm-events')
    return batch(JSON.stringify(alarmEvent({ notification_plan: { critical_state: [webhookId] } })));
  return name === 'record-email-events' ? batch(JSON.stringify(bounce())) : request(destination);
};
