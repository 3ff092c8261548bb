import * as z from 'zod';
import { MAX_AUDIT_TEXT_LENGTH } from '../audit.ts';
import { MAX_LABEL_LENGTH } from '../text.ts';
import { OPERATOR, roles } from '../token.ts';
import { component, nullable, string, text, timestamp } from './schemas.ts';

/** docs/api.md#tokens */
export const token = component('Token', 'An API token, without the token itself', {
  id: string('ID of the token, assigned by the service'),
  label: text(MAX_LABEL_LENGTH).describe('What the token is for'),
  // After a rollback, a token can have a role that the running version does not know.
  role: z.string().meta({ enum: roles, description: 'What the token permits' }),
  expires_at: timestamp('When the token expires'),
  issuer: string(`ID of the token that issued it, even if that was revoked or has expired, or \`${OPERATOR}\``),
  created_at: timestamp('When the token was created'),
});

export type TokenRecord = z.infer<typeof token>;

export const createdToken = token
  .omit({ issuer: true, created_at: true })
  .extend({ token: string('The token. No other response contains it') })
  .meta({ id: 'CreatedToken', description: 'A new token' });
export type CreatedToken = z.infer<typeof createdToken>;

const auditText = z.string().max(MAX_AUDIT_TEXT_LENGTH);

/** docs/api.md#audit */
export const audit = component('Audit', 'A change, test or redelivery', {
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
export type AuditRecord = z.infer<typeof audit>;
