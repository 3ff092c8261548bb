import type { Attacker } from './attacker.ts';
import { hangingEndpoint } from './attackers/hanging-endpoint.ts';
import { hangingOrigins } from './attackers/hanging-origins.ts';
import { largeNotifications } from './attackers/large-notifications.ts';
import { longTracestate } from './attackers/long-tracestate.ts';
import { manyEmails } from './attackers/many-emails.ts';
import { manyIds } from './attackers/many-ids.ts';
import { manySecrets } from './attackers/many-secrets.ts';
import { nestedDetails } from './attackers/nested-details.ts';
import { sharedOrigin } from './attackers/shared-origin.ts';

/** All attackers. */
export const attackers: readonly Attacker[] = [
  longTracestate,
  nestedDetails,
  sharedOrigin,
  hangingEndpoint,
  hangingOrigins,
  manySecrets,
  manyIds,
  largeNotifications,
  manyEmails,
];
