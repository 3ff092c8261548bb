import { createDocumentClient } from '../shared/adapters/document-client.ts';
import { noDelivery } from '../shared/adapters/sender/no-sender.ts';
import { createSender } from '../shared/adapters/sender/sender.ts';
import { environments } from '../shared/environment.ts';

/** Takes the alerts for `incidentpager` notifications, which cannot be delivered yet. */
export const handler = createSender(
  'incidentpager',
  createDocumentClient(),
  environments['send-incidentpager'].parse(process.env),
  noDelivery,
);
