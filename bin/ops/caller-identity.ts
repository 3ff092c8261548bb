import type { STSClientConfig } from '@aws-sdk/client-sts';

/** Returns the ARN of the IAM principal of the credentials, from `sts:GetCallerIdentity`, which needs no permission. */
export const callerArn = async (config: STSClientConfig): Promise<string> => {
  // Loaded on demand: most commands change nothing.
  const { GetCallerIdentityCommand, STSClient } = await import('@aws-sdk/client-sts');
  const { Arn } = await new STSClient(config).send(new GetCallerIdentityCommand());
  if (Arn === undefined) throw new Error('STS responded without an ARN.');
  return Arn;
};
