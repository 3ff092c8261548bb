import { describe, expect, it } from 'vitest';
import { endpointNames } from '../../shared/contracts/endpoints.ts';
import { notificationTypeIds } from '../../shared/contracts/notification-types.ts';
import { limitNames } from '../../shared/contracts/tenant-limits.ts';
import { environments, parseEnvironment, senderName } from '../../shared/environment.ts';

const valueByType = JSON.stringify(
  Object.fromEntries(notificationTypeIds.map((type) => [type, `https://sqs/${type}`])),
);

const limitsOf = (limit: unknown) => JSON.stringify(Object.fromEntries(limitNames.map((name) => [name, limit])));

const tokens = { TOKENS_TABLE: 'tokens', TOKEN_CACHE_SECONDS: '60' };
const testEnvironment = {
  ...tokens,
  ACCOUNTS_TABLE: 'accounts',
  TENANT_LIMITS: limitsOf(200),
  AUDITS_TABLE: 'audits',
  AUDIT_RETENTION_DAYS: '90',
  SENDER_FUNCTIONS: valueByType,
};

describe('the environment schemas', () => {
  it('cover exactly the operations, the senders, dispatch, the other functions and the handler of unknown routes', () => {
    expect(Object.keys(environments).toSorted()).toEqual(
      [
        ...endpointNames,
        ...notificationTypeIds.map(senderName),
        'dispatch-alarm-events',
        'record-email-events',
        'watch-deliveries',
        'report-deliveries',
        'handle-unknown-route',
        'opt-out',
      ].toSorted(),
    );
  });

  it('parse numbers, limits and values by type', () => {
    const { TENANT_LIMITS, TOKEN_CACHE_SECONDS, SENDER_FUNCTIONS } = parseEnvironment(
      'test-new-notification',
      testEnvironment,
    );
    expect(TENANT_LIMITS.testsPerTenantPerDay).toBe(200);
    expect(TOKEN_CACHE_SECONDS).toBe(60);
    expect(SENDER_FUNCTIONS.webhook).toBe('https://sqs/webhook');
  });

  it('ignore variables that Lambda sets', () => {
    const variables = { ...tokens, AWS_REGION: 'eu-west-1' };
    expect(parseEnvironment('get-notification-type', variables)).toEqual({
      TOKENS_TABLE: 'tokens',
      TOKEN_CACHE_SECONDS: 60,
    });
  });

  it.each([
    ['a variable is missing', { ACCOUNTS_TABLE: undefined }],
    ['a name is empty', { ACCOUNTS_TABLE: '' }],
    ['a number is not numeric', { TOKEN_CACHE_SECONDS: 'many' }],
    ['a number is empty', { TOKEN_CACHE_SECONDS: '' }],
    ['a number is negative', { TOKEN_CACHE_SECONDS: '-1' }],
    ['a number is infinite', { TOKEN_CACHE_SECONDS: 'Infinity' }],
    ['a limit is missing', { TENANT_LIMITS: '{"testsPerTenantPerDay":1}' }],
    ['a limit is no number', { TENANT_LIMITS: limitsOf('1') }],
    ['a type is missing', { SENDER_FUNCTIONS: '{"webhook":"w"}' }],
    ['a value for a type is empty', { SENDER_FUNCTIONS: valueByType.replace('https://sqs/sms', '') }],
    ['the values by type are not JSON', { SENDER_FUNCTIONS: 'webhook' }],
  ])('reject an invalid environment: %s', (_, changes) => {
    const [name = ''] = Object.keys(changes);
    expect(() => parseEnvironment('test-new-notification', { ...testEnvironment, ...changes })).toThrow(
      `Environment variables are missing or invalid: ${name}.`,
    );
  });
});
