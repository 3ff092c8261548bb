import { createDocumentClient } from '../shared/adapters/document-client.ts';
import { createQueues } from '../shared/adapters/queues.ts';
import { environments } from '../shared/environment.ts';
import { createMailEventRecorder } from '../shared/pipeline/email-events.ts';

const environment = environments['record-mail-events'].parse(process.env);

/** Records which emails bounced, were complained about or rejected, as SES reports them. */
export const handler = createMailEventRecorder(createDocumentClient(), createQueues(), environment);
