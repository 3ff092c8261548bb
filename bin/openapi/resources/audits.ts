import * as z from 'zod';
import { collectionOf } from '../../../shared/contracts/responses/schemas.ts';
import { type AuditRecord, audit } from '../../../shared/contracts/responses/tokens-and-audits.ts';
import { badRequest } from '../../../shared/domain/errors.ts';
import { EXAMPLE_REQUEST_ID, EXAMPLE_TIME_MS } from '../examples.ts';
import { pageOf, type Resource } from '../operation.ts';
import { limit, markerLike, time } from '../parameters.ts';
import { parameter } from '../schemas.ts';

const exampleAudit: AuditRecord = {
  id: 'au01M7W08F9SK1GM8Z4T5J2R6WQX',
  timestamp: EXAMPLE_TIME_MS,
  action: 'update-notification',
  target_id: 'nt01M7W08F9Z4XGJJRVYEZQFE9R1',
  changed: ['details'],
  actor: { type: 'token', id: 'tk01M7ZZ2AQ9MC8P6P3KH5Y23K83', label: 'Deploy job' },
  request_id: EXAMPLE_REQUEST_ID,
  ip_address: '192.0.2.44',
  who: 'jane',
  why: 'New on-call rotation',
};

/** The operation on audit entries. */
export const auditResource = {
  tag: { name: 'audits', description: 'Who changed what.' },
  operations: {
    'list-audits': {
      summary: 'List who changed what',
      details:
        'Every change, test and redelivery of the last 90 days, or of as many as the operators keep, oldest first.',
      query: {
        limit,
        marker: markerLike(exampleAudit.id),
        reverse: parameter(
          z.string().default('false'),
          'Returns the newest entry first if it is `true`, in any case',
          'true',
        ),
        from: time('Returns only the entries of this time and later', EXAMPLE_TIME_MS),
        to: time('Returns only the entries of this time and earlier', EXAMPLE_TIME_MS + 86_400_000),
      },
      response: pageOf(collectionOf('Audits', 'audit entries', audit), exampleAudit, '/audits'),
      errors: [
        badRequest(
          'from: must be 0 or a whole number from 1000000000000 to 9999999999999: milliseconds since the epoch',
        ),
      ],
    },
  },
} as const satisfies Resource;
