import './bin/supported-node.ts';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

/** Workers and the processes that tests start load the same packages, and compiling them takes longer than running. */
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, 'node_modules/.cache/node-compile-cache');

/** The temporary directory of all workers, so that a run that is interrupted leaves no file behind. */
process.env.TMPDIR = mkdtempSync(join(tmpdir(), 'vitest-'));
/** Where the first worker or process that needs the bundles of all functions stores them for all others. */
process.env.SHARED_BUILDS = process.env.TMPDIR;
const removeTemporaryFiles = (directory: string) => rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
process.once('exit', removeTemporaryFiles.bind(undefined, process.env.TMPDIR));
for (const [signal, code] of [
  ['SIGHUP', 129],
  ['SIGTERM', 143],
] as const)
  process.once(signal, () => process.exit(code));

/**
 * Ends a test or hook that waits for something that never happens. It must not end one that waits for a busy machine:
 * the slowest take 30 s on two cores with a load of 10.
 */
const TIMEOUT_MS = 240_000;

/** Tests import modules with the same interop rules as Node.js. */
const deps = { interopDefault: false };

/** Tests that mock modules or change the environment, and so need isolation. */
const isolated = [
  'test/adapters/dynamodb/batches.test.ts',
  'test/adapters/dynamodb/transactions.test.ts',
  'test/adapters/outbound-http/http-client.test.ts',
  'test/lib/source-maps.test.ts',
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
          include: ['{local-aws/test,test/{contracts,domain,adapters,api,pipeline,lib,local,cloudwatch}}/**/*.test.ts'],
          exclude: isolated,
          isolate: false,
          testTimeout: TIMEOUT_MS,
          hookTimeout: TIMEOUT_MS,
          deps,
        },
      },
      {
        test: { name: 'isolated', include: isolated, testTimeout: TIMEOUT_MS, hookTimeout: TIMEOUT_MS, deps },
      },
      {
        test: {
          name: 'end-to-end',
          include: ['test/end-to-end/**/*.test.ts'],
          globalSetup: 'test/end-to-end/support/running-stack.ts',
          testTimeout: TIMEOUT_MS,
          hookTimeout: TIMEOUT_MS,
          deps,
        },
      },
      {
        test: {
          name: 'faults',
          include: ['test/{faults,chaos,permissions,upgrade}/**/*.test.ts'],
          exclude: drills,
          isolate: false,
          testTimeout: TIMEOUT_MS,
          hookTimeout: TIMEOUT_MS,
          deps,
        },
      },
      {
        test: {
          name: 'drills',
          include: drills,
          isolate: false,
          testTimeout: TIMEOUT_MS,
          hookTimeout: TIMEOUT_MS,
          deps,
        },
      },
    ],
  },
});
