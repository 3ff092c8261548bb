import type { NamedMutation } from './named-mutation.ts';

const TRANSACTIONS = 'shared/adapters/dynamodb/transactions.ts';
const TOKENS = 'shared/adapters/tokens/token-repository.ts';
const WRITER = 'shared/adapters/notifications/notification-writer.ts';
const ACCOUNTS = 'shared/adapters/accounts/account-repository.ts';

/** Defects of what people change and read. */
export const apiMutations: readonly NamedMutation[] = [
  {
    name: 'fails a request that conflicts with another one',
    seed: 4,
    file: TRANSACTIONS,
    find: 'if (!isContention(error)) throw error;',
    replace: 'throw error;',
  },
  {
    name: 'creates another notification for a repeated idempotency key',
    seed: 1,
    file: WRITER,
    find: '...(request ? [idempotencyItem(table, key, request, clock())] : []),',
    replace: '',
  },
  {
    name: 'repeats a delivery on the next page of a search',
    seed: 1,
    file: 'shared/api/delivery-search.ts',
    find: 'const from = after === undefined ? FIRST : afterId(after);',
    replace: 'const from = after ?? FIRST;',
  },
  {
    name: 'issues a token to a token that was revoked',
    seed: 4,
    file: TOKENS,
    find: 'if (changer !== OPERATOR && !tokens.some((entry) => entry.id === changer && isValid(entry))) throw unauthorized();',
    replace: '',
    also: [
      {
        file: 'functions/create-token.ts',
        find: '{ cachesTokens: false }',
        replace: '',
      },
    ],
  },
  {
    name: 'deletes a notification without an audit entry',
    seed: 2,
    file: WRITER,
    find: '[deletion, counterItem(table, key.tenant, -1), entry]',
    replace: '[deletion, counterItem(table, key.tenant, -1)]',
  },
  {
    name: 'changes an account without an audit entry',
    seed: 2,
    file: ACCOUNTS,
    find: 'await transact(client, [setAttributes(tenant, attributes), entry]);',
    replace: 'await transact(client, [setAttributes(tenant, attributes)]);',
  },
  {
    name: 'makes deliveries due without an audit entry',
    seed: 3,
    file: 'shared/api/retry-now.ts',
    find: 'if (!isRecorded) await record();',
    replace: '',
  },
  {
    name: 'redelivers alerts without an audit entry',
    seed: 1,
    file: 'shared/api/redelivery.ts',
    find: 'let isRecorded = false;',
    replace: 'let isRecorded = true;',
  },
  {
    name: 'writes the audit entry of a test after the test was sent',
    seed: 'an API function is ended while it tests',
    file: 'shared/api/counted-invocation.ts',
    find: `      await invocation.record?.();
      return await invoke(invocation);
`,
    replace: `      const result = await invoke(invocation);
      await invocation.record?.();
      return result;
`,
  },
  {
    name: 'replaces a signing secret that another request has just replaced',
    seed: 31,
    file: ACCOUNTS,
    find: "ConditionExpression: 'webhook_secrets[0] = :current',",
    replace: "ConditionExpression: 'attribute_exists(webhook_secrets) OR webhook_secrets[0] = :current',",
  },
];
