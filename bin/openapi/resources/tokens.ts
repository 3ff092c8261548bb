import * as z from 'zod';
import {
  DEFAULT_TOKEN_DAYS,
  MAX_TOKEN_DAYS,
  MAX_TOKENS,
  OPERATOR,
  parseNewToken,
  roles,
} from '../../../shared/contracts/token.ts';
import { badRequest, lastAdminToken, notFound, tokenLimitReached } from '../../../shared/domain/errors.ts';
import { collectionOf, label, timestamp } from '../common-schemas.ts';
import { EXAMPLE_TIME_MS, onlyPage } from '../examples.ts';
import { badLimit, notJson, ok, type Resource, rejectedBody, unconfirmed } from '../operation.ts';
import { parameters } from '../parameters.ts';

const tokenAttributes = {
  id: z.string().describe('ID of the token, assigned by the service'),
  label: label.describe('What the token is for'),
  role: z.enum(roles).describe('What the token permits'),
  expires_at: timestamp('When the token expires'),
};
const token = z
  .object({
    ...tokenAttributes,
    issuer: z
      .string()
      .describe(
        `ID of the token that issued it, even if that was revoked or has expired, or \`${OPERATOR}\`. Of an account with more than 100 such issuers, the oldest are replaced by their own issuers`,
      ),
    created_at: timestamp('When the token was created'),
  })
  .describe('An API token, without the token itself');

const exampleToken = {
  id: 'tk01M7ZZ2AQ9MC8P6P3KH5Y23K83',
  label: 'Deploy job',
  role: 'creator',
  expires_at: EXAMPLE_TIME_MS + 90 * 86_400_000,
};

/** The operations on API tokens. */
export const tokenResource = {
  tag: { name: 'tokens', description: 'API tokens: create, list and revoke.' },
  schemas: {
    NewToken: z
      .object({
        label: tokenAttributes.label,
        role: tokenAttributes.role,
        days: z.int().min(1).max(MAX_TOKEN_DAYS).default(DEFAULT_TOKEN_DAYS).describe('How many days it is valid'),
      })
      .describe('A token to create'),
    CreatedToken: z
      .object({ ...tokenAttributes, token: z.string().describe('The token. No other response contains it') })
      .describe('A new token'),
    Token: token,
    Tokens: collectionOf(token, 'tokens'),
  },
  operations: {
    'list-tokens': {
      summary: 'List the API tokens',
      details: 'The unexpired tokens of the account, oldest first, without the tokens themselves.',
      isExtension: true,
      query: [parameters.limit, parameters.marker],
      success: ok('A page of tokens.', 'Tokens', {
        all: {
          summary: 'One token',
          value: onlyPage('/tokens', [{ ...exampleToken, issuer: OPERATOR, created_at: EXAMPLE_TIME_MS }]),
        },
      }),
      errors: [badLimit],
    },
    'create-token': {
      summary: 'Create an API token',
      details: 'The token is shown only in this response.',
      isExtension: true,
      body: {
        schema: 'NewToken',
        description: 'The token to create',
        examples: {
          creator: {
            summary: 'A token for 90 days',
            value: { label: exampleToken.label, role: exampleToken.role, days: 90 },
          },
        },
      },
      success: {
        status: 201,
        description: 'The token was created.',
        schema: 'CreatedToken',
        examples: {
          created: {
            summary: 'A token for 90 days',
            value: { token: `mnt_${'cNXU86kEp1'.repeat(4)}cNXU86kEp`, ...exampleToken },
          },
        },
      },
      errors: [
        rejectedBody(parseNewToken({ label: 'Deploy job', role: 'owner' })),
        notJson,
        { when: 'The account has as many tokens as it may have', error: tokenLimitReached(MAX_TOKENS) },
        unconfirmed,
      ],
    },
    'revoke-token': {
      summary: 'Revoke an API token',
      details:
        'Requests with the token return 401 within 60 seconds, and requests that create or revoke tokens at once. A revoked token can be given to revoke what it issued.',
      isExtension: true,
      query: [parameters.issuedSince],
      success: { status: 204, description: 'The token was revoked.' },
      errors: [
        {
          when: 'The parameter `issued_since` is not a time',
          error: badRequest(
            'issued_since: must be 0 or a whole number from 1000000000000 to 9999999999999: milliseconds since the epoch',
          ),
        },
        { when: 'No unexpired token of role admin would remain', error: lastAdminToken() },
        { when: 'The account has no such token', error: notFound('The token') },
        unconfirmed,
      ],
    },
  },
} as const satisfies Resource;
