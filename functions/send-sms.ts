import { createDocumentClient } from '../shared/adapters/document-client.ts';
import { createSender } from '../shared/adapters/sender/sender.ts';
import { smsDelivery } from '../shared/adapters/sender/sms.ts';
import { environments } from '../shared/environment.ts';

const environment = environments['send-sms'].parse(process.env);

/** Sends alerts to `sms` notifications. */
export const handler = createSender('sms', createDocumentClient(), environment, smsDelivery(environment));
