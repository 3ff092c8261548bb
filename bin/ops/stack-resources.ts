import type { AwsOptions } from './deployment.ts';

/** A resource of a deployed stack. */
export type StackResource = { type: string; logicalId: string; physicalId: string };

/** Returns the resources of a deployed stack, read with these options or else those of the environment. A name prefix could also match resources of other stacks. */
export const stackResources = async (
  { aws }: { aws: Partial<AwsOptions> },
  stackName: string,
): Promise<StackResource[]> => {
  const { CloudFormationClient, paginateListStackResources } = await import('@aws-sdk/client-cloudformation');
  const client = new CloudFormationClient(aws);
  const pages = await Array.fromAsync(paginateListStackResources({ client }, { StackName: stackName }));
  return pages.flatMap(({ StackResourceSummaries = [] }) =>
    StackResourceSummaries.map(({ ResourceType = '', LogicalResourceId = '', PhysicalResourceId = '' }) => ({
      type: ResourceType,
      logicalId: LogicalResourceId,
      physicalId: PhysicalResourceId,
    })),
  );
};
