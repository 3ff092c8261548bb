import { notificationTypeIds } from '../../../shared/contracts/notification-types.ts';
import { optOutUrl } from '../../../shared/domain/email-stop.ts';
import { newToken } from '../../../shared/domain/token.ts';
import { type FunctionName, senderName } from '../../../shared/environment.ts';
import { apiRequest } from '../../support/api-request.ts';
import { deliveryRecord } from '../../support/delivery-records.ts';
import { bounceBody } from '../../support/email-events.ts';
import { alarmEvent, deliveryMessage } from '../../support/events.ts';
import { OPT_OUT_KEY } from '../../support/opt-outs.ts';
import { reportBody, streamRecord } from '../../support/stream-records.ts';
import { sqsEvent } from './sqs-batch.ts';
import { stubNotificationId } from './stub-notification.ts';

export const LISTED_TOKEN_ID = 'tk01M7W36KGQDJ8S2D76FCWK3Z00';

const batch = (body: string) => sqsEvent([{ body, tenant: 'acme' }]);

/** The bodies of the operations that refuse unknown attributes. */
const strictBodies: Partial<Record<FunctionName, unknown>> = {
  redeliver: { since: 0 },
  'update-account': { technical_contacts: ['first@example.com'] },
  'create-token': { label: 'First', role: 'observer' },
};

const pathIds: Partial<Record<FunctionName, string>> = {
  'get-notification-type': 'webhook',
  'revoke-token': LISTED_TOKEN_ID,
};

const request = (name: FunctionName, destination: string) =>
  apiRequest({
    headers: { 'x-auth-token': newToken() },
    pathParameters: { id: pathIds[name] ?? stubNotificationId('webhook') },
    body: JSON.stringify(strictBodies[name] ?? { label: 'First', type: 'webhook', details: { url: destination } }),
  });

const failedRecord = () => {
  const failed = deliveryRecord({ tenant: 'acme', id: stubNotificationId('webhook') }, 'event', {
    status: 'failed',
  });
  return streamRecord({ ...failed, status: 'pending' }, failed);
};

const optOutPage = () => {
  const url = optOutUrl('https://api.example.com', OPT_OUT_KEY, {
    tenant: 'acme',
    address: 'a@example.com',
  });
  return apiRequest({ routeKey: 'GET /opt-out', rawQueryString: new URL(url).search.slice(1) });
};

export const firstEvent = (name: FunctionName, destination: string): unknown => {
  const type = notificationTypeIds.find((each) => senderName(each) === name);
  if (type) return batch(deliveryMessage(stubNotificationId(type), alarmEvent()));
  if (name === 'dispatch-alarm-events')
    return batch(
      JSON.stringify(alarmEvent({ notification_plan: { critical_state: [stubNotificationId('webhook')] } })),
    );
  if (name === 'opt-out') return optOutPage();
  if (name === 'watch-deliveries') return { Records: [failedRecord()] };
  if (name === 'report-deliveries') return batch(reportBody(alarmEvent(), stubNotificationId('webhook')));
  return name === 'record-email-events'
    ? batch(bounceBody(alarmEvent(), stubNotificationId('webhook')))
    : request(name, destination);
};
