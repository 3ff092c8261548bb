import * as z from 'zod';
import { collectionOf } from '../../../shared/contracts/responses/schemas.ts';
import { type AuditRecord, audit, createdToken, token } from '../../../shared/contracts/responses/tokens-and-audits.ts';
import {
  DEFAULT_TOKEN_DAYS,
  MAX_TOKEN_DAYS,
  MAX_TOKENS,
  OPERATOR,
  parseNewToken,
} from '../../../shared/contracts/token.ts';
import { badRequest, lastAdminToken, tokenLimitReached, unconfirmedChange } from '../../../shared/domain/errors.ts';
import { EXAMPLE_REQUEST_ID, EXAMPLE_TIME_MS } from '../examples.ts';
import { limit, markerLike, pageOf, parameter, type Resource, rejectedBody, time } from '../operation.ts';

const exampleToken = {
  id: 'tk01M7ZZ2AQ9MC8P6P3KH5Y23K83',
  label: 'Deploy job',
  role: 'creator',
  expires_at: EXAMPLE_TIME_MS + 90 * 86_400_000,
};

const newToken = token
  .pick({ label: true, role: true })
  .extend({
    days: z.int().min(1).max(MAX_TOKEN_DAYS).default(DEFAULT_TOKEN_DAYS).describe('How many days it is valid'),
  })
  .meta({ id: 'NewToken', description: 'A token to create' });

export const tokenResource = {
  tag: { name: 'tokens', description: 'API tokens: create, list and revoke.' },
  operations: {
    'list-tokens': {
      summary: 'List the API tokens',
      details: 'The unexpired tokens of the account, oldest first, without the tokens themselves.',
      query: { limit, marker: markerLike(exampleToken.id) },
      response: pageOf(
        collectionOf('Tokens', 'tokens', token),
        { ...exampleToken, issuer: OPERATOR, created_at: EXAMPLE_TIME_MS },
        '/tokens',
      ),
    },
    'create-token': {
      summary: 'Create an API token',
      details: 'The token is shown only in this response.',
      request: {
        schema: newToken,
        examples: { 'A token for 90 days': { label: exampleToken.label, role: exampleToken.role, days: 90 } },
      },
      status: 201,
      response: {
        schema: createdToken,
        examples: {
          'A token for 90 days': { token: `mnt_${'cNXU86kEp1'.repeat(4)}cNXU86kEp`, ...exampleToken },
        },
      },
      errors: [
        rejectedBody(parseNewToken({ label: 'Deploy job', role: 'owner' })),
        tokenLimitReached(MAX_TOKENS),
        unconfirmedChange(),
      ],
    },
    'revoke-token': {
      summary: 'Revoke an API token',
      details:
        'Requests with the token return 401 within 60 seconds, and requests that create or revoke tokens at once.',
      query: {
        issued_since: time(
          'Also revokes every token that a token issued at this time or later, except the one of the request. The ID need not be listed',
          EXAMPLE_TIME_MS,
        ),
      },
      errors: [
        badRequest(
          'issued_since: must be 0 or a whole number from 1000000000000 to 9999999999999: milliseconds since the epoch',
        ),
        badRequest('issued_since: must not be in the future'),
        lastAdminToken(),
        unconfirmedChange(),
      ],
    },
  },
} as const satisfies Resource;

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
        reverse: parameter(z.boolean().default(false), 'Returns the newest entry first if it is `true`', true),
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
