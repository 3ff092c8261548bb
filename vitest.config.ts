import { defineConfig } from 'vitest/config';

/** Modules are taken as Node takes them, so that what runs in tests is what runs outside of them. */
const deps = { interopDefault: false };

export default defineConfig({
  test: {
    // Many tests wait for a stack of their own, so two cores take two files at a time.
    maxWorkers: 2,
    projects: [
      {
        test: {
          name: 'parts',
          include: ['test/{contracts,domain,adapters,lib,local}/**/*.test.ts'],
          testTimeout: 30_000,
          hookTimeout: 60_000,
          deps,
        },
      },
      {
        test: {
          name: 'end-to-end',
          include: ['test/end-to-end/**/*.test.ts'],
          globalSetup: 'test/end-to-end/support/running-stack.ts',
          testTimeout: 60_000,
          hookTimeout: 60_000,
          deps,
        },
      },
      {
        test: {
          name: 'faults',
          include: ['test/{faults,chaos,ops,permissions}/**/*.test.ts'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
          deps,
        },
      },
    ],
  },
});
