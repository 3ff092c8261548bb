import type { EventSourceMappingConfiguration } from '@aws-sdk/client-lambda';
import { LambdaClient, paginateListEventSourceMappings } from '@aws-sdk/client-lambda';
import type { Session } from '../session.ts';
import { stackResources } from '../stack-resources.ts';
import { type Check, failed, ofDeployed, ok } from './check.ts';

/** An event source of the stack, and what Lambda knows of it; undefined if it was deleted. */
type EventSource = { logicalId: string; mapping: EventSourceMappingConfiguration | undefined };

/** Returns the event sources of a stack. */
export const eventSourcesOf = async ({ deployment }: Session, stackName: string): Promise<EventSource[]> => {
  const client = new LambdaClient(deployment.aws);
  const pages = await Array.fromAsync(paginateListEventSourceMappings({ client }, {}));
  const mappings = new Map(
    pages.flatMap(({ EventSourceMappings = [] }) => EventSourceMappings.map((mapping) => [mapping.UUID, mapping])),
  );
  const resources = await stackResources(deployment, stackName);
  return resources
    .filter(({ type }) => type === 'AWS::Lambda::EventSourceMapping')
    .map(({ logicalId, physicalId }) => ({ logicalId, mapping: mappings.get(physicalId) }));
};

/** Checks that no event source is disabled or was deleted. */
export const eventSourcesCheck: Check = {
  name: 'event-sources',
  proves: 'Lambda receives the messages of every queue',
  resolve: 'enable it: docs/runbook.md#messages-wait-too-long',
  run: ofDeployed(async (session, stackName) => {
    const sources = await eventSourcesOf(session, stackName);
    const problems = sources.flatMap(({ logicalId, mapping }) =>
      mapping?.State === 'Enabled' ? [] : [`${logicalId}: ${mapping?.State ?? 'does not exist'}`],
    );
    return problems.length > 0 ? failed(problems.join(', ')) : ok(`${sources.length} event sources`);
  }),
};
