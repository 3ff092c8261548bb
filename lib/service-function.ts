import { Duration, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
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
import type { EnvironmentOf, FunctionName } from '../shared/environment.ts';
import type { Bundle } from './bundles.ts';
import type { Network } from './network.ts';
import type { ResourceAccess } from './resource-access.ts';
import type { Settings } from './settings.ts';

/** The settings and bundles that all functions of the stack share. */
export type FunctionDefaults = {
  settings: Settings;
  bundleOf: (name: FunctionName) => Bundle;
};

/** Options of a single function. */
export type FunctionOptions = {
  /** Disables recursive loop detection: the function sends messages to a queue that it consumes, such as retries. */
  sendsToItself?: boolean;
  /** Default: the setting `memoryMb`, or 512. */
  memoryMb?: number;
  /** The maximum number of concurrent DNS lookups. */
  maxLookups?: number | undefined;
  /** The concurrency that the function reserves, which is also its maximum. Default: none. */
  reservedConcurrency?: number | undefined;
  /** The VPC to attach the function to. */
  network?: Network | undefined;
};

/**
 * The default number of concurrent DNS lookups. With the Node.js default of 4 threads, two slow lookups would block all
 * others.
 */
const MAX_LOOKUPS = 32;

/**
 * The memory of dispatch and the API. They use the CPU more than they wait, so less memory saves nothing, and their
 * largest inputs need it: docs/benchmarks.md#memory.
 */
const DEFAULT_MEMORY_MB = 512;

/**
 * A Lambda function of the service: Node.js 24 on arm64, with its own log group and its own role, which has only the
 * permissions in `access`. Its name is the file name in `functions/` without the extension.
 */
export class ServiceFunction<Name extends FunctionName> extends Construct {
  readonly lambda: LambdaFunction;

  constructor(
    scope: Construct,
    name: Name,
    { settings, bundleOf }: FunctionDefaults,
    access: ResourceAccess<EnvironmentOf<Name>>,
    options: FunctionOptions = {},
  ) {
    super(scope, name);
    const bundle = bundleOf(name);
    const logGroup = new LogGroup(this, 'Logs', {
      retention: settings.logRetentionDays,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    const role = new Role(this, 'Role', { assumedBy: new ServicePrincipal('lambda.amazonaws.com') });
    logGroup.grantWrite(role);
    for (const statement of [...access.statements, ...(options.network?.vpcStatements() ?? [])])
      role.addToPolicy(statement);
    this.lambda = new LambdaFunction(this, 'Function', {
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      code: Code.fromAsset(bundle.directory),
      handler: 'index.handler',
      timeout: Duration.millis(FUNCTION_TIMEOUT_MS),
      memorySize: options.memoryMb ?? settings.memoryMb ?? DEFAULT_MEMORY_MB,
      environment: {
        ...Object.fromEntries(Object.entries(access.environment).filter(isDefined)),
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
    options.network?.attachToVpc(this.lambda);
  }
}

const isDefined = (entry: [string, unknown]): entry is [string, string] => typeof entry[1] === 'string';
