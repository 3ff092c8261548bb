import type { EventSourceMappingConfiguration } from '@aws-sdk/client-lambda';
import { LambdaClient, paginateListEventSourceMappings } from '@aws-sdk/client-lambda';
import { type Check, type Context, type DeployedStack, failed, ofDeployed, ok } from './check.ts';

/** An event source of the stack, and what Lambda knows of it; undefined if it was deleted. */
type EventSource = { logicalId: string; mapping: EventSourceMappingConfiguration | undefined };

/** Returns the event sources of a stack. */
export const eventSourcesOf = async ({
  session: { deployment },
  stack,
}: Pick<Context, 'session'> & { stack: DeployedStack }): Promise<EventSource[]> => {
  const client = new LambdaClient(deployment.aws);
  const pages = await Array.fromAsync(paginateListEventSourceMappings({ client }, {}));
  const mappings = new Map(
    pages.flatMap(({ EventSourceMappings = [] }) => EventSourceMappings.map((mapping) => [mapping.UUID, mapping])),
  );
  return (await stack.resources('AWS::Lambda::EventSourceMapping')).map(({ logicalId, physicalId }) => ({
    logicalId,
    mapping: mappings.get(physicalId),
  }));
};

/** Checks that no event source is disabled or was deleted. */
export const eventSourcesCheck: Check = {
  name: 'event-sources',
  proves: 'Lambda receives the messages of every queue',
  resolve: 'enable it: docs/runbook.md#messages-wait-too-long',
  run: ofDeployed(async (context) => {
    const sources = await eventSourcesOf(context);
    const problems = sources.flatMap(({ logicalId, mapping }) =>
      mapping?.State === 'Enabled' ? [] : [`${logicalId}: ${mapping?.State ?? 'does not exist'}`],
    );
    return problems.length > 0 ? failed(problems.join(', ')) : ok(`${sources.length} event sources`);
  }),
};
