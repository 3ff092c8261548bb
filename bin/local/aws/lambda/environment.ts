import { LOCAL_ENV } from '../aws-service.ts';

/** A function as the template declares it. */
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
 * The whole environment of a function: what it declares, and what the Lambda runtime adds. The access key names the
 * function, so that the endpoint knows who calls.
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

/** What the context of every invocation of a function holds. */
export const lambdaContext = (settings: FunctionSettings): Record<string, string> => ({
  functionName: settings.name,
  functionVersion: '$LATEST',
  invokedFunctionArn: settings.arn,
  memoryLimitInMB: String(settings.memoryMb),
  logGroupName: `/aws/lambda/${settings.name}`,
  logStreamName: 'local',
});
