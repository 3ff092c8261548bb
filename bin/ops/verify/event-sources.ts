import type { EventSourceMappingConfiguration } from '@aws-sdk/client-lambda';
import { LambdaClient, paginateListEventSourceMappings } from '@aws-sdk/client-lambda';
import type { Session } from '../session.ts';
import type { DeployedStack } from './check.ts';

/** An event source of the stack, and what Lambda knows of it; undefined if it was deleted. */
type EventSource = { logicalId: string; mapping: EventSourceMappingConfiguration | undefined };

/** Returns the event sources of a stack. */
export const eventSourcesOf = async (
  { deployment }: Pick<Session, 'deployment'>,
  { resources }: Pick<DeployedStack, 'resources'>,
): Promise<EventSource[]> => {
  const client = new LambdaClient(deployment.aws);
  const pages = await Array.fromAsync(paginateListEventSourceMappings({ client }, {}));
  const mappings = new Map(
    pages.flatMap(({ EventSourceMappings = [] }) => EventSourceMappings.map((mapping) => [mapping.UUID, mapping])),
  );
  return (await resources('AWS::Lambda::EventSourceMapping')).map(({ logicalId, physicalId }) => ({
    logicalId,
    mapping: mappings.get(physicalId),
  }));
};
