import { emailFunction } from '../shared/pipeline/email-sender.ts';
import { createEmailTransport } from '../shared/pipeline/transports/email.ts';

const { accounts, sendEmail, sender } = emailFunction('email');

/** Sends alerts to `email` notifications. */
export const handler = sender(createEmailTransport(sendEmail, accounts));
