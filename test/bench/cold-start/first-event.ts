import { notificationTypeIds } from '../../../shared/contracts/notification-types.ts';
import { emailTags } from '../../../shared/domain/email-event.ts';
import { newToken } from '../../../shared/domain/token.ts';
import { type FunctionName, senderName } from '../../../shared/environment.ts';
import { apiRequest } from '../../support/api-request.ts';
import { alarmEvent, deliveryMessage } from '../../support/events.ts';

/** A notification that the stub of AWS knows: its last digit is the place of its type in the list of types. */
const notificationOf = (place: number): string => `nt01M7W36KGQDJ8S2D76FCWK3Z0${place}`;
const webhook = notificationOf(notificationTypeIds.indexOf('webhook'));

const batch = (body: string) => ({
  Records: [
    {
      messageId: 'message',
      receiptHandle: 'handle',
      body,
      attributes: { ApproximateReceiveCount: '1', SentTimestamp: String(Date.now()), MessageGroupId: 'acme' },
      messageAttributes: {},
    },
  ],
});

const request = (destination: string, token: string | undefined) =>
  apiRequest({
    headers: token === undefined ? {} : { 'x-auth-token': token },
    pathParameters: { notificationId: webhook, notificationTypeId: 'webhook' },
    body: JSON.stringify({ label: 'Bench', type: 'webhook', details: { url: destination } }),
  });

const bounce = () => {
  const tags = Object.entries(emailTags(alarmEvent(), webhook)).map(([name, value]) => [name, [value]]);
  return {
    source: 'aws.ses',
    detail: { eventType: 'Bounce', mail: { messageId: 'mail', tags: Object.fromEntries(tags) } },
  };
};

/** The first event of a function, one that it can serve in full. */
export const firstEvent = (name: FunctionName, destination: string): unknown => {
  const place = notificationTypeIds.findIndex((type) => senderName(type) === name);
  if (place >= 0) return batch(deliveryMessage(notificationOf(place), alarmEvent()));
  if (name === 'dispatch-alarm-events')
    return batch(JSON.stringify(alarmEvent({ notification_plan: { critical_state: [webhook] } })));
  return name === 'record-email-events' ? batch(JSON.stringify(bounce())) : request(destination, newToken());
};

/** A request without a token: refused before anything is asked of AWS. */
export const refusedRequest = (): unknown => request('http://example.com', undefined);
