import { defineConfig } from 'vitest/config';

/** `npm run test:browser`: tests in the Chromium of the system, apart from `npm test`, which needs only Node.js. */
export default defineConfig({
  test: {
    include: ['test/browser/**/*.test.ts'],
    globalSetup: 'test/browser/support/require-chromium.ts',
    fileParallelism: false,
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 60_000 } },
    deps: { interopDefault: false },
  },
});
