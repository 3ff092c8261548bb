import { defineConfig } from 'vitest/config';

/** Tests import modules with the same interop rules as Node.js. */
const deps = { interopDefault: false };

/** Tests that mock modules or change the environment, and so need isolation. */
const isolated = [
  'test/adapters/dynamodb/batches.test.ts',
  'test/adapters/outbound-http/http-client.test.ts',
  'test/pipeline/transports/email-tags.test.ts',
  'test/ops/**/*.test.ts',
];

/** Outages over hours of simulated time, run by `npm run drills`. */
const drills = ['test/faults/alarm-drills*.test.ts'];

export default defineConfig({
  test: {
    // Tests often wait for timeouts or for their stack, so two cores can run three files at a time.
    maxWorkers: 3,
    projects: [
      {
        test: {
          name: 'unit',
          include: ['test/{contracts,domain,adapters,api,pipeline,lib,local}/**/*.test.ts'],
          exclude: isolated,
          isolate: false,
          testTimeout: 30_000,
          hookTimeout: 60_000,
          deps,
        },
      },
      {
        test: { name: 'isolated', include: isolated, testTimeout: 60_000, hookTimeout: 60_000, deps },
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
          include: ['test/{faults,chaos,permissions,upgrade}/**/*.test.ts'],
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
