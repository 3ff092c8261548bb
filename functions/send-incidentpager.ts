import { createDocumentClient } from '../shared/adapters/document-client.ts';
import { createHttpClient } from '../shared/adapters/outbound-http/http-client.ts';
import { withOriginPause } from '../shared/adapters/outbound-http/origin-pause.ts';
import { pagerDelivery } from '../shared/adapters/sender/incidentpager.ts';
import { createSender } from '../shared/adapters/sender/sender.ts';
import { anyAddress, egressRule } from '../shared/domain/egress.ts';
import { environments } from '../shared/environment.ts';

const environment = environments['send-incidentpager'].parse(process.env);
const guarded = withOriginPause(createHttpClient({ isAllowed: egressRule(environment.EGRESS_ALLOW) }));
const direct = withOriginPause(createHttpClient({ isAllowed: anyAddress }));

/** Sends alerts to `incidentpager` notifications. */
export const handler = createSender(
  'incidentpager',
  createDocumentClient(),
  environment,
  pagerDelivery(guarded, direct, environment.PAGER_ENDPOINT),
);
