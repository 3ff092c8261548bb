import { defineConfig } from 'vitest/config';

/** The end-to-end tests against a deployed stack, without those that need a stack on this machine. */
export default defineConfig({
  test: {
    root: '.',
    include: ['test/{end-to-end,deployed}/**/*.test.ts'],
    globalSetup: 'test/deployed/deployed-stack.ts',
    testTimeout: 120_000,
    hookTimeout: 60_000,
    // The stack throttles its API, and is not alone in its account.
    fileParallelism: false,
    env: { GENERATED_REQUESTS: process.env.GENERATED_REQUESTS ?? '200' },
    deps: { interopDefault: false },
  },
});
