import { Duration, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { PolicyStatement, type PolicyStatementProps, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import {
  Architecture,
  Code,
  Function as LambdaFunction,
  LoggingFormat,
  RecursiveLoop,
  Runtime,
  SystemLogLevel,
} from 'aws-cdk-lib/aws-lambda';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import { FUNCTION_TIMEOUT_MS } from '../shared/domain/timeouts.ts';
import { environments, type FunctionName } from '../shared/environment.ts';
import type { Bundle } from './bundles.ts';
import type { Settings } from './settings.ts';

export const allow = (
  actions: string[],
  resources: string[],
  conditions: NonNullable<PolicyStatementProps['conditions']> = {},
): PolicyStatement => new PolicyStatement({ actions, resources, conditions });

export type FunctionDefaults = { settings: Settings; bundleOf: (name: FunctionName) => Bundle };

export type FunctionOptions = {
  /** Environment variables of which other functions have other values. */
  variables?: Readonly<Record<string, string>>;
  /** Disables recursive loop detection: the function sends messages to a queue that it consumes, such as retries. */
  sendsToItself?: boolean;
  /** Default: the setting `memoryMb`, or 512. */
  memoryMb?: number;
  /** Concurrent DNS lookups. */
  maxLookups?: number | undefined;
  /** It is also the maximum. */
  reservedConcurrency?: number | undefined;
};

/** With the Node.js default of 4 threads, two slow lookups would block all others. */
const MAX_LOOKUPS = 32;

/** The memory of dispatch and the API, which use the CPU more than they wait: docs/benchmarks.md#memory. */
const DEFAULT_MEMORY_MB = 512;

/** A Lambda function with its own log group and role. Its name is that of its file in `functions/`. */
export class ServiceFunction extends Construct {
  readonly lambda: LambdaFunction;
  readonly #name: FunctionName;
  readonly #variables: Readonly<Record<string, string>>;

  constructor(
    scope: Construct,
    name: FunctionName,
    { settings, bundleOf }: FunctionDefaults,
    statements: readonly PolicyStatement[],
    options: FunctionOptions = {},
  ) {
    super(scope, name);
    this.#name = name;
    this.#variables = options.variables ?? {};
    const bundle = bundleOf(name);
    const logGroup = new LogGroup(this, 'Logs', {
      retention: settings.logRetentionDays,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    const role = new Role(this, 'Role', { assumedBy: new ServicePrincipal('lambda.amazonaws.com') });
    logGroup.grantWrite(role);
    for (const statement of statements) role.addToPolicy(statement);
    this.lambda = new LambdaFunction(this, 'Function', {
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      code: Code.fromAsset(bundle.directory),
      handler: 'index.handler',
      timeout: Duration.millis(FUNCTION_TIMEOUT_MS),
      memorySize: options.memoryMb ?? settings.memoryMb ?? DEFAULT_MEMORY_MB,
      environment: {
        // A DNS lookup blocks a thread and cannot be aborted. libuv uses at most half of the threads for lookups.
        UV_THREADPOOL_SIZE: String(2 * (options.maxLookups ?? MAX_LOOKUPS)),
        // A metric dimension that separates the stacks of an account.
        STACK_NAME: Stack.of(this).stackName,
        // Every log line has the release, which identifies the code.
        RELEASE: bundle.release,
      },
      role,
      ...(options.reservedConcurrency !== undefined && { reservedConcurrentExecutions: options.reservedConcurrency }),
      logGroup,
      // Lambda then logs START and REPORT only of failed invocations, which `FunctionErrors` counts:
      // https://docs.aws.amazon.com/lambda/latest/dg/monitoring-cloudwatchlogs-log-level.html
      // The level of the function's own lines stays INFO, because lines without a level, such as metrics, are INFO.
      loggingFormat: LoggingFormat.JSON,
      systemLogLevelV2: SystemLogLevel.WARN,
      ...(options.sendsToItself && { recursiveLoop: RecursiveLoop.ALLOW }),
    });
  }

  /** Sets those of these environment variables that the function has (`environments`), and its own. */
  setVariables(shared: Readonly<Record<string, string | undefined>>): void {
    const values: typeof shared = { ...shared, ...this.#variables };
    for (const variable of Object.keys(environments[this.#name])) {
      const value = values[variable];
      if (value !== undefined) this.lambda.addEnvironment(variable, value);
    }
  }
}
