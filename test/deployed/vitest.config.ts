import { defineConfig } from 'vitest/config';

/** End-to-end tests against a deployed stack. Those that need a local stack are skipped. */
export default defineConfig({
  test: {
    root: '.',
    include: ['test/{end-to-end,deployed}/**/*.test.ts'],
    globalSetup: 'test/deployed/deployed-stack.ts',
    testTimeout: 120_000,
    hookTimeout: 60_000,
    // The stack throttles its API and shares account quotas.
    fileParallelism: false,
    env: { GENERATED_REQUESTS: process.env.GENERATED_REQUESTS ?? '200' },
    deps: { interopDefault: false },
  },
});
