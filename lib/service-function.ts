import { Duration, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Architecture, Code, Function as LambdaFunction, RecursiveLoop, Runtime } from 'aws-cdk-lib/aws-lambda';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import type { EnvironmentOf, FunctionName } from '../shared/environment.ts';
import type { Network } from './network.ts';
import { ResourceAccess } from './resource-access.ts';
import type { Settings } from './settings.ts';

/** What all functions of the stack have in common. */
export type FunctionDefaults = {
  settings: Settings;
  /** Where the bundle of a function lies. */
  bundleOf: (name: FunctionName) => string;
};

/** What a function may have of its own. */
export type FunctionOptions = {
  /** True where a message that it sends may come back to it: a retry does. */
  sendsToItself?: boolean;
  /** MB, unless the setting for all functions will do. */
  memory?: number | undefined;
  /** How many names it may look up at one time. */
  lookups?: number | undefined;
  /** The network that it runs in, unless Lambda's own will do. */
  network?: Network | undefined;
};

/** How long a function may run: a send's deadline of 15 s and its record fit in, and an HTTP API waits no longer (AWS limit). */
export const FUNCTION_TIMEOUT = Duration.seconds(30);

/** Names that a function may look up at one time: of four threads, two slow names would have all that are for look-ups. */
const LOOKUPS = 32;

/**
 * A function of the service: Node.js 24 on arm64, its own log group with retention, and its own role, which holds what
 * `access` gives and nothing else. Its name is the stem of its file in `functions/`.
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
    const logGroup = new LogGroup(this, 'Logs', {
      retention: settings.logRetentionDays,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    const role = new Role(this, 'Role', { assumedBy: new ServicePrincipal('lambda.amazonaws.com') });
    role.addToPolicy(
      new PolicyStatement({
        actions: ['logs:CreateLogStream', 'logs:PutLogEvents'],
        resources: [logGroup.logGroupArn],
      }),
    );
    for (const statement of [...access.statements, ...(options.network?.statements() ?? [])])
      role.addToPolicy(statement);
    this.lambda = new LambdaFunction(this, 'Function', {
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      code: Code.fromAsset(bundleOf(name)),
      handler: 'index.handler',
      timeout: FUNCTION_TIMEOUT,
      memorySize: options.memory ?? settings.memoryMb,
      environment: {
        ...Object.fromEntries(Object.entries(access.environment).filter(isVariable)),
        // A look-up of a name holds a thread and cannot be aborted, and libuv gives look-ups half of the threads.
        UV_THREADPOOL_SIZE: String(2 * (options.lookups ?? LOOKUPS)),
        // A dimension of the metrics, so that two stacks of an account do not count together.
        POWERTOOLS_SERVICE_NAME: Stack.of(this).stackName,
      },
      role,
      logGroup,
      ...(options.sendsToItself && { recursiveLoop: RecursiveLoop.ALLOW }),
    });
    options.network?.place(this.lambda);
  }

  /** Lets a function invoke this one and wait for its answer. */
  invocation(): ResourceAccess<unknown> {
    return new ResourceAccess({}, [
      new PolicyStatement({ actions: ['lambda:InvokeFunction'], resources: [this.lambda.functionArn] }),
    ]);
  }
}

const isVariable = (entry: [string, unknown]): entry is [string, string] => typeof entry[1] === 'string';
