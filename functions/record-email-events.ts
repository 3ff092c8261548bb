import { createDocumentClient } from '../shared/adapters/aws-client.ts';
import { createQueues } from '../shared/adapters/queues.ts';
import { parseEnvironment } from '../shared/environment.ts';
import { createEmailEventRecorder } from '../shared/pipeline/email-events.ts';

const environment = parseEnvironment('record-email-events');

/** Records what SES reports about accepted emails, and stops mailboxes after bounces and complaints. */
export const handler = createEmailEventRecorder(createDocumentClient(), createQueues(), environment);
