import './bin/supported-node.ts';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineConfig, type TestUserConfig } from 'vitest/config';
import type { ProjectConfig } from 'vitest/node';

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

/** A set of tests that can run alone, with `--project=<name>`. */
type Project = NonNullable<TestUserConfig['projects']>[number];

/** A project with the options that all projects have in common. */
const project = ({ name, setupFiles = [], ...options }: ProjectConfig & { name: string }): Project => ({
  test: {
    name,
    // Ends a test or hook that waits for something that never happens, but none that waits for a busy machine: the
    // slowest takes 4 minutes on two cores with a load of 13.
    testTimeout: 1_200_000,
    hookTimeout: 1_200_000,
    // Tests import modules with the same interop rules as Node.js.
    deps: { interopDefault: false },
    // Importing takes longer than most files run, so files share a worker with its modules.
    isolate: false,
    unstubEnvs: true,
    // The first line of a failure has values of this length.
    chaiConfig: { truncateThreshold: 200 },
    setupFiles: ['test/support/short-failures.ts', setupFiles].flat(),
    ...options,
  },
});

/** Tests that mock modules. */
const mocking = [
  'test/adapters/dynamodb/batches.test.ts',
  'test/adapters/dynamodb/transactions.test.ts',
  'test/adapters/outbound-http/http-client.test.ts',
  'test/pipeline/persist.test.ts',
  'test/pipeline/transports/email-tags.test.ts',
];
const drills = ['test/faults/alarm-drills*.test.ts'];
/** Starts a process for each function. */
const bundles = 'test/lib/bundles.test.ts';
/** What only DynamoDB Local runs. */
const slowAdapters = ['test/adapters/notifications/{interrupted-writes,large-notifications}.test.ts'];

/** What `npm test` runs too: it needs nothing but `npm ci`. In quick runs, each project has only its quick tests. */
const everyCommit = (isQuick: boolean): Project[] => {
  const properties = { setupFiles: isQuick ? ['test/support/property-runs.ts'] : [] };
  const endToEnd = isQuick ? '{interface-responses,alarm-events,create-notification,test-operations}' : '*';
  return [
    project({
      name: 'parts',
      include: ['test/{contracts,domain,adapters,api,pipeline,local,cloudwatch}/**/*.test.ts'],
      exclude: [...mocking, ...slowAdapters],
      ...properties,
    }),
    project({ name: 'template', include: ['test/lib/**/*.test.ts'], exclude: [...mocking, bundles], ...properties }),
    project({ name: 'mocks', include: mocking, isolate: true, ...properties }),
    project({
      name: 'end-to-end',
      include: [`test/end-to-end/${endToEnd}.test.ts`],
      globalSetup: 'test/end-to-end/support/running-stack.ts',
    }),
    // Its processes use all cores.
    project({
      name: 'simulation',
      ...(isQuick
        ? { include: ['test/simulation/{simulation,mutations/mutations}.test.ts'] }
        : { include: ['test/simulation/**/*.test.ts'], maxWorkers: 1, sequence: { groupOrder: 3 } }),
    }),
  ];
};

/** What only `npm run test:all` runs: it is slow, needs a browser or Java, or tests a tool. */
const everyRelease = [
  project({ name: 'local-aws', include: ['bin/local-aws/test/**/*.test.ts'] }),
  project({ name: 'tools', include: ['test/tools/**/*.test.ts', bundles] }),
  project({ name: 'ops', include: ['test/ops/**/*.test.ts'] }),
  project({ name: 'faults', include: ['test/{faults,permissions}/**/*.test.ts'], exclude: drills }),
  // Outages over hours of simulated time. A step ends when the stack is idle, so nothing else runs at the same time.
  project({ name: 'drills', include: drills, sequence: { groupOrder: 1 } }),
  project({
    name: 'browser',
    include: ['test/browser/**/*.test.ts'],
    globalSetup: 'test/browser/support/require-chromium.ts',
    isolate: true,
    maxWorkers: 1,
    expect: { poll: { timeout: 60_000 } },
    sequence: { groupOrder: 2 },
  }),
  // AWS's own DynamoDB Local.
  project({
    name: 'dynamodb-local',
    include: [
      'test/dynamodb-local/**/*.test.ts',
      'test/adapters/{accounts,audits,deliveries,dynamodb,notifications,tokens}/**/*.test.ts',
    ],
    globalSetup: 'test/dynamodb-local/start-dynamodb-local.ts',
  }),
];

export default defineConfig(({ mode }) => {
  const isQuick = mode === 'quick';
  process.env.QUICK_RUN = String(isQuick);
  return {
    test: {
      // Many tests of a release wait for timeouts or processes, so two cores can run three files at a time.
      maxWorkers: isQuick ? 2 : 3,
      projects: isQuick ? everyCommit(true) : [...everyCommit(false), ...everyRelease],
    },
  };
});
