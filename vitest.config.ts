import { defineConfig } from 'vitest/config';

/** Modules are taken as Node takes them, so that what runs in tests is what runs outside of them. */
const deps = { interopDefault: false };

/** Tests that replace a module or the environment: nobody may share theirs. */
const replacing = [
  'test/adapters/dynamodb/batches.test.ts',
  'test/adapters/outbound-http/http-client.test.ts',
  'test/pipeline/transports/email-tags.test.ts',
  'test/ops/**/*.test.ts',
];

/** Outages over hours of moved time: `npm run drills`. */
const drills = ['test/faults/alarm-drills*.test.ts'];

export default defineConfig({
  test: {
    // Many tests wait, for a deadline or a stack of their own: two cores take three files at a time.
    maxWorkers: 3,
    projects: [
      {
        test: {
          name: 'parts',
          include: ['test/{contracts,domain,adapters,api,pipeline,lib,local}/**/*.test.ts'],
          exclude: replacing,
          isolate: false,
          testTimeout: 30_000,
          hookTimeout: 60_000,
          deps,
        },
      },
      {
        test: { name: 'replacing', include: replacing, testTimeout: 60_000, hookTimeout: 60_000, deps },
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
          include: ['test/{faults,chaos,permissions}/**/*.test.ts'],
          exclude: drills,
          isolate: false,
          testTimeout: 60_000,
          hookTimeout: 60_000,
          deps,
        },
      },
      {
        test: { name: 'drills', include: drills, isolate: false, testTimeout: 120_000, hookTimeout: 60_000, deps },
      },
    ],
  },
});
