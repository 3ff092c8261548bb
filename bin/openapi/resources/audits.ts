import * as z from 'zod';
import { type AuditRecord, MAX_AUDIT_TEXT_LENGTH } from '../../../shared/contracts/audit.ts';
import { badRequest } from '../../../shared/domain/errors.ts';
import { EXAMPLE_REQUEST_ID, EXAMPLE_TIME_MS, pageOf, type Resource } from '../operation.ts';
import { limit, markerLike, time } from '../parameters.ts';
import { component, nullable, parameter, string, timestamp } from '../schemas.ts';

const auditText = z.string().max(MAX_AUDIT_TEXT_LENGTH);

const audit = component('Audit', 'A change, test or redelivery', {
  id: string('ID of the entry, assigned by the service'),
  timestamp: timestamp('When the change was made'),
  action: string('The `operationId` of the change, or a name for what only recipients or operators do'),
  target_id: nullable(
    z.string(),
    'ID of the notification, token or account, or a hash of the recipient of emails; null for a destination that is not stored',
  ),
  changed: z.array(z.string()).describe('Names of the attributes that were set or changed, never their values'),
  actor: z
    .object({
      type: z
        .enum(['token', 'operator', 'recipient'])
        .describe('Whether a token of the account, an operator or a recipient of emails made the change'),
      id: nullable(z.string(), 'ID of the token; null for others'),
      label: nullable(z.string(), 'Label of the token; null for others'),
    })
    .describe('Who made the change'),
  request_id: nullable(z.string(), 'ID of the request; null for an operator'),
  ip_address: nullable(z.string(), 'Address that sent the request; null for an operator or a recipient'),
  who: nullable(auditText, 'The query parameter `_who` of the change'),
  why: nullable(auditText, 'The query parameter `_why` of the change'),
});

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
      response: pageOf('Audits', audit, exampleAudit, { of: 'audit entries', path: '/audits' }),
      errors: [
        badRequest(
          'from: must be 0 or a whole number from 1000000000000 to 9999999999999: milliseconds since the epoch',
        ),
      ],
    },
  },
} as const satisfies Resource;
