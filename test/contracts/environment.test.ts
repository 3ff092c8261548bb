import { describe, expect, it } from 'vitest';
import { endpointNames } from '../../shared/contracts/endpoints.ts';
import { notificationTypeIds } from '../../shared/contracts/notification-types.ts';
import { environments, senderName } from '../../shared/environment.ts';

const perType = JSON.stringify(Object.fromEntries(notificationTypeIds.map((type) => [type, `https://sqs/${type}`])));

const tokens = { TOKENS_TABLE: 'tokens', TOKEN_CACHE_SECONDS: '60' };
const test = { ...tokens, ACCOUNTS_TABLE: 'accounts', TESTS_PER_TENANT_PER_DAY: '200', SENDER_FUNCTIONS: perType };

describe('the environment of a function', () => {
  it('is known for each operation, each sender, the dispatch, the events of mails and the unknown routes, and for nothing else', () => {
    expect(Object.keys(environments).toSorted()).toEqual(
      [
        ...endpointNames,
        ...notificationTypeIds.map(senderName),
        'dispatch-alarm-events',
        'record-email-events',
        'handle-unknown-route',
      ].toSorted(),
    );
  });

  it('is read once into what the function uses, numbers and lists parsed', () => {
    const { TESTS_PER_TENANT_PER_DAY, TOKEN_CACHE_SECONDS, SENDER_FUNCTIONS } =
      environments['test-new-notification'].parse(test);
    expect({ TESTS_PER_TENANT_PER_DAY, TOKEN_CACHE_SECONDS }).toEqual({
      TESTS_PER_TENANT_PER_DAY: 200,
      TOKEN_CACHE_SECONDS: 60,
    });
    expect(SENDER_FUNCTIONS.webhook).toBe('https://sqs/webhook');
  });

  it('may hold what Lambda adds to it', () => {
    expect(environments['get-notification-type'].safeParse({ ...tokens, AWS_REGION: 'eu-west-1' }).success).toBe(true);
  });

  it.each([
    ['a variable is missing', { ACCOUNTS_TABLE: undefined }],
    ['a name is empty', { ACCOUNTS_TABLE: '' }],
    ['a number is none', { TESTS_PER_TENANT_PER_DAY: 'many' }],
    ['a number is empty', { TESTS_PER_TENANT_PER_DAY: '' }],
    ['a number is below 0', { TESTS_PER_TENANT_PER_DAY: '-1' }],
    ['a number has no end', { TESTS_PER_TENANT_PER_DAY: 'Infinity' }],
    ['a type is missing', { SENDER_FUNCTIONS: '{"webhook":"w"}' }],
    ['a value for a type is empty', { SENDER_FUNCTIONS: perType.replace('https://sqs/sms', '') }],
    ['a value for all types is no JSON', { SENDER_FUNCTIONS: 'webhook' }],
  ])('kills a bad deploy at once: %s', (_, changes) => {
    expect(() => environments['test-new-notification'].parse({ ...test, ...changes })).toThrow();
  });
});
