import type { AwsCall, AwsFault } from 'local-aws/aws-service.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { synthesize } from '../../bin/local/assembly.ts';
import { createAccountAdministration } from '../../shared/adapters/accounts/account-administration.ts';
import { type FaultyStack, startFaultyStack, throttled } from '../faults/support.ts';
import { auditIn } from '../support/audit.ts';
import { type Sink, startSink } from '../support/sink.ts';
import { type Call, callsOf } from './calls.ts';
import { exerciseApi } from './exercise-api.ts';
import { awsFault, type Behavior, exercisePipeline, httpResponder } from './exercise-pipeline.ts';
import { allows, type Grant, grantsOf } from './grants.ts';

/** Permissions that Lambda uses with the role of a function, and the function's code does not. */
const usedByLambda: readonly { action: string; consumersOf: 'eventSources' | 'streamSources'; reason: string }[] = [
  {
    action: 'sqs:ReceiveMessage',
    consumersOf: 'eventSources',
    reason: 'Lambda receives messages with the role of the function.',
  },
  {
    action: 'sqs:DeleteMessage',
    consumersOf: 'eventSources',
    reason: 'Lambda deletes processed messages with the role of the function.',
  },
  {
    action: 'sqs:GetQueueAttributes',
    consumersOf: 'eventSources',
    reason: 'Lambda reads the number of messages with the role of the function.',
  },
  ...['DescribeStream', 'GetRecords', 'GetShardIterator', 'ListStreams'].map((action) => ({
    action: `dynamodb:${action}`,
    consumersOf: 'streamSources' as const,
    reason: 'Lambda reads the stream with the role of the function.',
  })),
];

const describeCall = ({ caller, action, resource }: Call): string => `${caller}: ${action} on ${resource}`;
const describeGrant = ({ caller, action, resource, isExcluded }: Grant): string =>
  `${caller}: ${action} on ${isExcluded ? 'all but ' : ''}${resource}`;

describe('the permissions of functions and schedules', () => {
  let world: FaultyStack;
  let sink: Sink;
  let grants: Grant[];
  const calls: Call[] = [];

  /** Returns whether a call is the first of a queue consumer: reading notifications or records, or recording a bounce. */
  const isFirstCall = ({ caller, action }: AwsCall): boolean =>
    (/^local-(Delivery-|Reports-report)/.test(caller) && action === 'BatchGetItem') ||
    (caller.startsWith('local-EmailEvents-') && action === 'UpdateItem');

  /** Throttles first calls until the function has returned a message to its queue. */
  const throttleFirstCall = (call: AwsCall): AwsFault | undefined => {
    const hasReturned = calls.some(
      ({ caller, action }) => `local-${caller}` === call.caller && action === 'sqs:ChangeMessageVisibility',
    );
    return isFirstCall(call) && !hasReturned ? throttled : undefined;
  };

  beforeAll(async () => {
    let behavior: Behavior = 'accept';
    sink = await startSink((response, request) => httpResponder(behavior)(response, request));
    world = await startFaultyStack({
      routerEndpoint: `${sink.url}/router`,
      feedEndpoint: `${sink.url}/feed`,
      heartbeatUrl: `${sink.url}/heartbeat`,
      deliveryOutcomes: 'true',
    });
    world.stack.endpoint.fault = (call) => {
      calls.push(...callsOf(call));
      return awsFault(behavior, call) ?? throttleFirstCall(call);
    };
    const assembly = synthesize({ heartbeatUrl: 'https://monitor.example.org', deliveryOutcomes: 'true' });
    grants = grantsOf(assembly.template, world.stack.ready.aws_endpoint);
    assembly.remove();

    const client = await world.newClient();
    const accounts = createAccountAdministration(world.documents, world.table('Accounts'));
    await accounts.update(
      client.tenant,
      { technical_contacts: ['oncall@example.com'] },
      auditIn(world.table('Audits')),
    );
    const ids = await exerciseApi(world, client, sink.url);
    const setBehavior = (next: Behavior): void => {
      behavior = next;
    };
    await exercisePipeline({ world, client, calls, setBehavior, sinkUrl: sink.url }, ids);
    // Every schedule has called.
    await world.stack.advance(3_600_000);
  });
  afterAll(async () => {
    await world.stack.stop();
    sink.close();
  });

  it('allow every call', () => {
    const denied = calls.filter((call) => !grants.some((grant) => allows(grant, call)));
    expect([...new Set(denied.map(describeCall))]).toEqual([]);
  });

  it('are all used, by functions, by schedules or by Lambda', () => {
    const unused = grants
      .filter(({ action }) => !usedByLambda.some((lambdaUse) => lambdaUse.action === action))
      // Lambda sends to this queue what it gives up of a stream.
      .filter(({ resource }) => !world.stack.plan.streamSources.some((source) => source.failureQueueArn === resource))
      .filter((grant) => !calls.some((call) => allows(grant, call)));
    expect(unused.map(describeGrant)).toEqual([]);
  });

  it('that Lambda uses are granted to consumers of queues and streams only', () => {
    for (const { action, consumersOf } of usedByLambda) {
      const consumers = grants.filter((grant) => grant.action === action).map(({ caller }) => caller);
      expect(consumers.toSorted()).toEqual(
        world.stack.plan[consumersOf].map(({ functionName }) => functionName).toSorted(),
      );
    }
  });
});
