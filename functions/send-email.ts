import { emailFunction } from '../shared/pipeline/email-sender.ts';
import { createEmailTransport, createRecipientRefusal } from '../shared/pipeline/transports/email.ts';

const { accounts, stops, sendEmail, sender } = emailFunction('email');

/** Sends alerts to `email` notifications. */
export const handler = sender(createEmailTransport(sendEmail, accounts), createRecipientRefusal(accounts, stops));
