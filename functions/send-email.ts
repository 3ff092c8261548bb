import { createDocumentClient } from '../shared/adapters/document-client.ts';
import { emailDelivery } from '../shared/adapters/sender/email.ts';
import { createSender } from '../shared/adapters/sender/sender.ts';
import { environments } from '../shared/environment.ts';

const environment = environments['send-email'].parse(process.env);

/** Sends alerts to `email` notifications. */
export const handler = createSender('email', createDocumentClient(), environment, emailDelivery(environment));
