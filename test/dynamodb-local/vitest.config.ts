import { defineConfig } from 'vitest/config';

/**
 * `npm run test:dynamodb-local`: tests with AWS's own DynamoDB Local, apart from `npm test`, which needs only Node.js.
 */
export default defineConfig({
  test: {
    include: [
      'test/dynamodb-local/**/*.test.ts',
      'test/adapters/{accounts,deliveries,dynamodb,notifications,tokens}/**/*.test.ts',
    ],
    globalSetup: 'test/dynamodb-local/start-dynamodb-local.ts',
    maxWorkers: 2,
    testTimeout: 240_000,
    hookTimeout: 240_000,
    deps: { interopDefault: false },
  },
});
