import { setTimeout as sleep } from 'node:timers/promises';
import {
  CloudFormationClient,
  DescribeStackDriftDetectionStatusCommand,
  DetectStackDriftCommand,
  paginateDescribeStackResourceDrifts,
} from '@aws-sdk/client-cloudformation';
import { OperationError } from '../errors.ts';
import { type Check, findingOf, ofDeployed } from './check.ts';

const POLL_INTERVAL_MS = 2_000;

/** The types whose own clients the command line lacks. CloudFormation compares them with the template. */
const TYPES = ['AWS::Logs::MetricFilter', 'AWS::Scheduler::Schedule', 'AWS::SES::ConfigurationSetEventDestination'];

/** Compares resources with the template. CloudFormation runs one detection per stack at a time. */
export const driftCheck: Check = {
  name: 'drift',
  proves: 'metric filters, schedules and the destination of email events exist and are as the template declares',
  resolve: 'deploy again',
  run: ofDeployed(async ({ session: { deployment }, stack: { name: StackName, resources } }) => {
    const client = new CloudFormationClient(deployment.aws);
    const LogicalResourceIds = (await Promise.all(TYPES.map(resources))).flat().map(({ logicalId }) => logicalId);
    if (LogicalResourceIds.length === 0) return findingOf(0, 'such resource', []);
    const { StackDriftDetectionId } = await client.send(new DetectStackDriftCommand({ StackName, LogicalResourceIds }));
    const poll = new DescribeStackDriftDetectionStatusCommand({ StackDriftDetectionId });
    while (true) {
      const { DetectionStatus, DetectionStatusReason = 'no reason given' } = await client.send(poll);
      if (DetectionStatus === 'DETECTION_COMPLETE') break;
      if (DetectionStatus === 'DETECTION_FAILED')
        throw new OperationError(`CloudFormation compared nothing: ${DetectionStatusReason}`);
      await sleep(POLL_INTERVAL_MS);
    }
    const pages = await Array.fromAsync(paginateDescribeStackResourceDrifts({ client }, { StackName }));
    const drifts = new Map(
      pages.flatMap(({ StackResourceDrifts = [] }) =>
        StackResourceDrifts.map((drift) => [drift.LogicalResourceId, drift] as const),
      ),
    );
    const problems = LogicalResourceIds.flatMap((id) => {
      const { StackResourceDriftStatus: status = 'NOT_CHECKED', PropertyDifferences = [] } = drifts.get(id) ?? {};
      if (status === 'IN_SYNC') return [];
      return [`${id}: ${status}${PropertyDifferences.map(({ PropertyPath }) => ` ${PropertyPath}`).join('')}`];
    });
    return findingOf(LogicalResourceIds.length, 'such resource', problems);
  }),
};
