import { createDocumentClient } from '../shared/adapters/document-client.ts';
import { noDelivery } from '../shared/adapters/sender/no-sender.ts';
import { createSender } from '../shared/adapters/sender/sender.ts';
import { environments } from '../shared/environment.ts';

/** Takes the alerts for `incidentrouter` notifications, which cannot be delivered yet. */
export const handler = createSender(
  'incidentrouter',
  createDocumentClient(),
  environments['send-incidentrouter'].parse(process.env),
  noDelivery,
);
