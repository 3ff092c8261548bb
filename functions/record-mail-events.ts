import { createDocumentClient } from '../shared/adapters/document-client.ts';
import { createMailEventRecorder } from '../shared/adapters/mail-events.ts';
import { environments } from '../shared/environment.ts';

const environment = environments['record-mail-events'].parse(process.env);

/** Hears from SES which mails bounced, were complained of or rejected, and marks their deliveries. */
export const handler = createMailEventRecorder(createDocumentClient(), environment.DELIVERIES_TABLE);
