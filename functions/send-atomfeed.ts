import { createDocumentClient } from '../shared/adapters/document-client.ts';
import { createHttpClient } from '../shared/adapters/outbound-http/http-client.ts';
import { withOriginPause } from '../shared/adapters/outbound-http/origin-pause.ts';
import { feedDelivery } from '../shared/adapters/sender/atomfeed.ts';
import { createSender } from '../shared/adapters/sender/sender.ts';
import { anyAddress } from '../shared/domain/egress.ts';
import { environments } from '../shared/environment.ts';

const environment = environments['send-atomfeed'].parse(process.env);
const http = withOriginPause(createHttpClient({ isAllowed: anyAddress }));

/** Sends alerts to `atomfeed` notifications. */
export const handler = createSender(
  'atomfeed',
  createDocumentClient(),
  environment,
  feedDelivery(http, environment.FEED_ENDPOINT),
);
