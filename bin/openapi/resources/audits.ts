import * as z from 'zod';
import { type AuditRecord, MAX_AUDIT_TEXT_LENGTH } from '../../../shared/contracts/audit.ts';
import { badRequest } from '../../../shared/domain/errors.ts';
import { collectionOf, timestamp } from '../common-schemas.ts';
import { EXAMPLE_REQUEST_ID, EXAMPLE_TIME_MS, onlyPage } from '../examples.ts';
import { badLimit, ok, type Resource } from '../operation.ts';
import { parameters } from '../parameters.ts';

const reason = z.string().max(MAX_AUDIT_TEXT_LENGTH).nullable();

const audit = z
  .object({
    id: z.string().describe('ID of the entry, assigned by the service'),
    timestamp: timestamp('When the change was made'),
    action: z.string().describe('The `operationId` of the change, or a name for what only operators do'),
    target_id: z
      .string()
      .nullable()
      .describe('ID of the notification, token or account; null for a destination that is not stored'),
    changed: z.array(z.string()).describe('Names of the attributes that were set or changed, never their values'),
    actor: z
      .object({
        type: z.enum(['token', 'operator']).describe('Whether a token of the account or an operator made the change'),
        id: z.string().nullable().describe('ID of the token; null for an operator'),
        label: z.string().nullable().describe('Label of the token; null for an operator'),
      })
      .describe('Who made the change'),
    request_id: z.string().nullable().describe('ID of the request; null for an operator'),
    ip_address: z.string().nullable().describe('Address that sent the request; null for an operator'),
    who: reason.describe('The query parameter `_who` of the change'),
    why: reason.describe('The query parameter `_why` of the change'),
  })
  .describe('A change, test or redelivery');

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
  schemas: { Audit: audit, Audits: collectionOf(audit, 'audit entries') },
  operations: {
    'list-audits': {
      summary: 'List who changed what',
      details:
        'Every change, test and redelivery of the last 90 days, or of as many as the operators keep, oldest first.',
      isExtension: true,
      query: [parameters.limit, parameters.auditMarker, parameters.reverse, parameters.from, parameters.to],
      success: ok('A page of audit entries.', 'Audits', {
        all: { summary: 'One change', value: onlyPage('/audits', [exampleAudit]) },
      }),
      errors: [
        badLimit,
        {
          when: 'A time is invalid',
          error: badRequest(
            'from: must be 0 or a whole number from 1000000000000 to 9999999999999: milliseconds since the epoch',
          ),
        },
      ],
    },
  },
} as const satisfies Resource;
