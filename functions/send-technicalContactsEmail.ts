import { emailFunction } from '../shared/pipeline/email-sender.ts';
import { createTechnicalContactsTransport } from '../shared/pipeline/transports/email.ts';

const { accounts, sendEmail, sender } = emailFunction('technicalContactsEmail');

/** Sends alerts to the technical contacts of accounts. */
export const handler = sender(createTechnicalContactsTransport(sendEmail, accounts));
