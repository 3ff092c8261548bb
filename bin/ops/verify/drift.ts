import { setTimeout as sleep } from 'node:timers/promises';
import type { StackResourceDrift } from '@aws-sdk/client-cloudformation';
import type { AwsOptions } from '../deployment.ts';
import { OperationError } from '../errors.ts';
import type { DeployedStack } from './check.ts';

const POLL_INTERVAL_MS = 2_000;

/** The types whose own clients the command line lacks. CloudFormation compares them with the template. */
export const driftTypes = ['AWS::Logs::MetricFilter', 'AWS::Scheduler::Schedule', 'AWS::Events::Rule'] as const;

/**
 * Compares the resources of `driftTypes` with the template. CloudFormation runs one detection per stack at a time.
 *
 * @returns what it found by logical ID; it does not check every type of resource
 * @throws OperationError if the detection fails
 */
export const detectDrift = async (
  aws: AwsOptions,
  { name, resources }: Pick<DeployedStack, 'name' | 'resources'>,
): Promise<ReadonlyMap<string, StackResourceDrift>> => {
  const { CloudFormationClient, paginateDescribeStackResourceDrifts, ...sdk } = await import(
    '@aws-sdk/client-cloudformation'
  );
  const client = new CloudFormationClient(aws);
  const wanted = (await Promise.all(driftTypes.map(resources))).flat().map(({ logicalId }) => logicalId);
  if (wanted.length === 0) return new Map();
  const { StackDriftDetectionId } = await client.send(
    new sdk.DetectStackDriftCommand({ StackName: name, LogicalResourceIds: wanted }),
  );
  const poll = new sdk.DescribeStackDriftDetectionStatusCommand({ StackDriftDetectionId });
  while (true) {
    const { DetectionStatus, DetectionStatusReason = 'no reason given' } = await client.send(poll);
    if (DetectionStatus === 'DETECTION_COMPLETE') break;
    if (DetectionStatus === 'DETECTION_FAILED')
      throw new OperationError(`CloudFormation compared nothing: ${DetectionStatusReason}`);
    await sleep(POLL_INTERVAL_MS);
  }
  const pages = await Array.fromAsync(paginateDescribeStackResourceDrifts({ client }, { StackName: name }));
  const drifts = pages.flatMap(({ StackResourceDrifts = [] }) => StackResourceDrifts);
  return new Map(drifts.map((drift) => [drift.LogicalResourceId ?? '', drift]));
};
