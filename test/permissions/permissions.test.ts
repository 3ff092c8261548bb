import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { synthesize } from '../../bin/local/aws/assembly.ts';
import type { AwsCall, AwsFault } from '../../bin/local/aws/aws-service.ts';
import { createAccountRepository } from '../../shared/adapters/accounts/account-repository.ts';
import { type FaultyStack, startFaultyStack, throttled } from '../faults/support.ts';
import { type Sink, startSink } from '../support/sink.ts';
import { type Call, callsOf } from './calls.ts';
import { driveApi } from './drive-api.ts';
import { answerIn, drivePipeline, type Mood, outletFault } from './drive-pipeline.ts';
import { allows, type Grant, grantsOf } from './grants.ts';

/** Permissions that no call of a function's code needs, and who does. */
const usedByOthers: readonly { action: string; reason: string }[] = [
  { action: 'sqs:ReceiveMessage', reason: 'Lambda reads the queue of a function with its role.' },
  { action: 'sqs:DeleteMessage', reason: 'Lambda acks for a function with its role.' },
  {
    action: 'sqs:GetQueueAttributes',
    reason: 'Lambda looks how much waits on the queue, with the role of the function.',
  },
];

/** Everything that functions do is done once here, one after the other: on a busy machine that takes more than a minute. */
const DRIVE_TIMEOUT_MS = 240_000;

const isRetries = ({ resource }: Call): boolean => resource.endsWith('-Retries');

const sentence = ({ caller, action, resource }: Call): string => `${caller}: ${action} on ${resource}`;
const grantSentence = ({ holder, action, resource, isExcluded }: Grant): string =>
  `${holder}: ${action} on ${isExcluded ? 'all but ' : ''}${resource}`;

describe('the permissions of each function', () => {
  let world: FaultyStack;
  let sink: Sink;
  let grants: Grant[];
  const calls: Call[] = [];

  /** The first call of each function behind a queue, by which it reads notifications or records a bounce. */
  const isFirstCall = ({ caller, action }: AwsCall): boolean =>
    (caller.startsWith('local-Delivery-') && action === 'BatchGetItem') ||
    (caller.startsWith('local-EmailEvents-') && action === 'UpdateItem');

  /** It fails until its function has put a message back, and once there are retries, one of these. */
  const ownFailure = (call: AwsCall): AwsFault | undefined => {
    const { caller } = call;
    if (!isFirstCall(call)) return undefined;
    const own = calls.filter((one) => `local-${one.caller}` === caller);
    const putBack = own.filter((one) => one.action === 'sqs:ChangeMessageVisibility');
    const hasRetry = own.some((one) => one.action === 'sqs:SendMessage' && isRetries(one));
    return putBack.length === 0 || (hasRetry && !putBack.some(isRetries)) ? throttled : undefined;
  };

  beforeAll(async () => {
    let mood: Mood = 'take';
    sink = await startSink((response, request) => answerIn(mood)(response, request));
    world = await startFaultyStack({ routerEndpoint: `${sink.url}/router`, feedEndpoint: `${sink.url}/feed` });
    world.stack.endpoint.fault = (call) => {
      calls.push(...callsOf(call));
      return outletFault(mood, call) ?? ownFailure(call);
    };
    const assembly = synthesize({});
    grants = grantsOf(assembly.template, world.stack.ready.aws_endpoint);
    assembly.remove();

    const client = await world.newClient();
    const accounts = createAccountRepository(world.documents, world.table('Accounts'));
    await accounts.setTechnicalContacts(client.tenant, ['oncall@example.com']);
    const ids = await driveApi(world, client, sink.url);
    const setMood = (next: Mood): void => {
      mood = next;
    };
    await drivePipeline({ world, client, calls, setMood }, ids);
  }, DRIVE_TIMEOUT_MS);
  afterAll(async () => {
    await world.stack.stop();
    sink.close();
  });

  it('are enough for every call that it makes', () => {
    const denied = calls.filter((call) => !grants.some((grant) => allows(grant, call)));
    expect([...new Set(denied.map(sentence))]).toEqual([]);
  });

  it('are all used, or are in the list of those that others use', () => {
    const unused = grants
      .filter(({ action }) => !usedByOthers.some((other) => other.action === action))
      .filter((grant) => !calls.some((call) => allows(grant, call)));
    expect(unused.map(grantSentence)).toEqual([]);
  });

  it('that others use are of functions that a queue feeds', () => {
    for (const { action } of usedByOthers) {
      const holders = grants.filter((grant) => grant.action === action).map(({ holder }) => holder);
      expect(holders.toSorted()).toEqual(
        world.stack.plan.eventSources.map(({ functionName }) => functionName).toSorted(),
      );
    }
  });
});
