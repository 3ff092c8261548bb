import { LOCAL_ENV } from '../aws-service.ts';

export type FunctionSettings = {
  name: string;
  arn: string;
  /** The directory of its bundle. */
  directory: string;
  handler: string;
  timeoutSeconds: number;
  memoryMb: number;
  environment: Record<string, string>;
};

/**
 * Returns the complete environment of a function: its declared variables and those of the Lambda runtime. The access
 * key contains the function name, which identifies the caller to the endpoint.
 */
export const lambdaEnvironment = (settings: FunctionSettings, endpointUrl: string): Record<string, string> => ({
  AWS_LAMBDA_FUNCTION_NAME: settings.name,
  AWS_LAMBDA_FUNCTION_MEMORY_SIZE: String(settings.memoryMb),
  AWS_LAMBDA_FUNCTION_VERSION: '$LATEST',
  AWS_LAMBDA_INITIALIZATION_TYPE: 'on-demand',
  AWS_LAMBDA_LOG_GROUP_NAME: `/aws/lambda/${settings.name}`,
  AWS_LAMBDA_LOG_STREAM_NAME: 'local',
  AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs24.x',
  AWS_REGION: LOCAL_ENV.region,
  AWS_DEFAULT_REGION: LOCAL_ENV.region,
  AWS_ACCESS_KEY_ID: `local-${settings.name}`,
  AWS_SECRET_ACCESS_KEY: 'local',
  AWS_ENDPOINT_URL: endpointUrl,
  LAMBDA_TASK_ROOT: settings.directory,
  _HANDLER: settings.handler,
  TZ: ':UTC',
  ...settings.environment,
});

/** Returns the context properties that are the same for every invocation of a function. */
export const lambdaContext = (settings: FunctionSettings): Record<string, string> => ({
  functionName: settings.name,
  functionVersion: '$LATEST',
  invokedFunctionArn: settings.arn,
  memoryLimitInMB: String(settings.memoryMb),
  logGroupName: `/aws/lambda/${settings.name}`,
  logStreamName: 'local',
});
