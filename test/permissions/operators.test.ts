import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { type AwsCall, type AwsResponse, LOCAL_ENV } from 'local-aws/aws-service.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { synthesize } from '../../bin/local/assembly.ts';
import { outputNames } from '../../bin/ops/deployment.ts';
import { createProgram } from '../../bin/ops/program.ts';
import { type FaultyStack, startFaultyStack } from '../faults/support.ts';
import { commandLine, commandNames, useDirectory } from '../ops/command-line.ts';
import { type Exercised, exercise } from '../ops/exercise.ts';
import { loadMessages } from '../ops/stored-data.ts';
import { type Call, callsOf, OPERATOR_KEY } from './calls.ts';
import { allows, type Grant, operatorsGrantsOf } from './grants.ts';

const directory = useDirectory();
const run = commandLine(directory);
let world: FaultyStack;
let exercised: Awaited<ReturnType<typeof exercise>>;
let grants: ReturnType<typeof operatorsGrantsOf>;
const calls: Record<'read' | 'change', Call[]> = { read: [], change: [] };
const ran = new Set(['event example']);

const xml = (name: string, content: string): string => `<${name}>${content}</${name}>`;
const members = (items: readonly Record<string, string>[]): string =>
  items
    .map((item) =>
      xml(
        'member',
        Object.entries(item)
          .map(([name, value]) => xml(name, value))
          .join(''),
      ),
    )
    .join('');
const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');

/** Returns the outputs of the stack, and the log group and alarm of which CloudFormation knows the names. */
const cloudFormationResults = (logGroup: string): Record<string, string> => {
  const Outputs = members(
    outputNames.map((OutputKey) => ({ OutputKey, OutputValue: escaped(world.stack.plan.output(OutputKey)) })),
  );
  const StackResourceSummaries = members([
    {
      LogicalResourceId: 'DeliverydispatchalarmeventsLogs',
      PhysicalResourceId: logGroup,
      ResourceType: 'AWS::Logs::LogGroup',
    },
    { LogicalResourceId: 'Throttles', PhysicalResourceId: 'Throttles', ResourceType: 'AWS::CloudWatch::Alarm' },
  ]);
  return {
    DescribeStacks: xml('Stacks', members([{ StackName: STACK, Outputs }])),
    ListStackResources: xml('StackResourceSummaries', StackResourceSummaries),
  };
};

/** The name of the stack whose policies are compared. */
const STACK = 'MonitoringNotifications';
const sentMessage = z.object({ MessageBody: z.string() });

/** Answers the calls that the local AWS does not support: those of CloudFormation and of the checks of `verify`. */
const answerAsAws = (logGroup: string): void => {
  const { endpoint, ready } = world.stack;
  const respond = (body: string): AwsResponse => ({ status: 200, headers: {}, body });
  const results: Record<string, string> = {
    ...cloudFormationResults(logGroup),
    Subscribe: xml('SubscriptionArn', `${world.stack.plan.output('ManagedTopicArn')}:1`),
  };
  let sent = '';
  const answerOf = ({ service, action, body: content }: AwsCall): string | undefined => {
    const body = content.toString();
    if (action in results || (['ses', 'sns'].includes(service) && /^(Get|Unsubscribe)/.test(action)))
      return xml(`${action}Response`, xml(`${action}Result`, results[action] ?? ''));
    if (service === 'lambda' && action === '') return '{}';
    if (action === 'CreateQueue')
      return JSON.stringify({ QueueUrl: `${ready.aws_endpoint}/000000000000/ops-verify-1` });
    if (action === 'SendMessage') sent = sentMessage.parse(JSON.parse(body)).MessageBody;
    if (!body.includes('/ops-verify-')) return undefined;
    const Body = JSON.stringify({ Message: sent });
    const MD5OfBody = createHash('md5').update(Body).digest('hex');
    return JSON.stringify(action === 'ReceiveMessage' ? { Messages: [{ ReceiptHandle: '1', Body, MD5OfBody }] } : {});
  };
  for (const name of ['cloudformation', 'lambda', 'ses', 'sns', 'sqs']) {
    const service = endpoint.services.get(name);
    endpoint.services.set(name, async (call) => {
      const answer = call.caller === OPERATOR_KEY ? answerOf(call) : undefined;
      if (answer !== undefined) return respond(answer);
      if (!service) throw new Error(`The local AWS has no service ${name}.`);
      return service(call);
    });
  }
};

type Run = readonly [command: string, args?: string, input?: string];

/** Runs commands of an operator as on AWS, and records their calls. */
const runAll = async (kind: keyof typeof calls, commands: readonly Run[]): Promise<void> => {
  world.stack.endpoint.fault = (call) => {
    if (call.caller === OPERATOR_KEY) calls[kind].push(...callsOf(call));
    return undefined;
  };
  const env = {
    AWS_ENDPOINT_URL: world.stack.ready.aws_endpoint,
    AWS_ACCESS_KEY_ID: OPERATOR_KEY,
    AWS_SECRET_ACCESS_KEY: 'x',
    AWS_REGION: LOCAL_ENV.region,
  };
  for (const [command, args = '', input = ''] of commands) {
    ran.add(command);
    await run(`${command} ${args} --stack ${STACK}`.split(/ +/), { env, input });
  }
};

const readingCommands = ({ events, tokens }: Exercised, event: string): Run[] => [
  ['token list', '--tenant acme'],
  ['token find', '', `${tokens.admin.token}\n`],
  ['account show', 'acme'],
  ['deliveries', '--tenant acme'],
  ['deliveries', '--limit 5'],
  ['audits', 'acme'],
  ['dead-letters list'],
  ['opt-outs list', 'acme'],
  ['event check', '-', event],
  ['event trace', `${events.delivered} --tenant acme`],
  ['event trace', `${events.crashed}`],
  ['status'],
  ['report'],
  ['tenants'],
];

const changingCommands = ({ tokens }: Exercised, event: string, file: string): Run[] => [
  ['token create', '--tenant acme --role admin --label x'],
  ['account limits', 'acme smsPerTenantPerDay=5'],
  ['account email', 'off acme --why x'],
  ['account shadow', 'acme on --for 1h --yes'],
  ['account recount', 'acme'],
  ['event send', '-', event],
  ['deliveries', '--retry-now --tenant acme'],
  ['opt-outs undo', 'acme former@example.com'],
  ['dead-letters redrive', 'webhook'],
  ['dead-letters redrive', 'crashed'],
  ['dead-letters purge', 'alarm-events --yes'],
  ['dead-letters purge', 'crashed --yes'],
  ['verify'],
  ['tenant export', `acme --out ${file}`],
  // A tenant without tokens, after whose revocation rotation and deletion would wait.
  ['tenant import', `other ${file} --new`],
  ['account rotate', 'other --since 24h --keep all --yes'],
  ['tenant delete', 'other --yes'],
  ['token revoke', `${tokens.observer.id} --tenant acme --issued-since none`],
];

beforeAll(async () => {
  world = await startFaultyStack({ retryDelayScale: '1' });
  exercised = await exercise(world, 'acme');
  const assembly = synthesize({});
  grants = operatorsGrantsOf(assembly.template, world.stack.ready.aws_endpoint);
  assembly.remove();
  const logs = grants.read.find(({ action }) => action === 'logs:FilterLogEvents');
  answerAsAws(logs?.resource.split(':').at(-2) ?? '');
  const sources = ['Delivery-webhook-Retries', 'EmailEvents-Queue', 'Delivery-Reports'];
  loadMessages(
    world,
    sources.map((source) => ({ queue: 'CrashedQueue', body: '{}', attributes: {}, source })),
  );
  const { out: event } = await run('event example');
  await runAll('read', readingCommands(exercised.data, event));
  await runAll('change', changingCommands(exercised.data, event, join(directory.path, 'acme.jsonl')));
});
afterAll(async () => {
  exercised.resume();
  exercised.close();
  await world.stack.stop();
});

/** The queues of all types have the same grants. */
const kindOf = (resource: string): string => resource.replace(/Delivery-\w+/, 'Delivery-<type>');
const describeCall = ({ action, resource }: Call | Grant): string => `${action} on ${kindOf(resource)}`;
const denied = (found: readonly Call[], permitted: readonly Grant[]) => [
  ...new Set(found.filter((call) => !permitted.some((grant) => allows(grant, call))).map(describeCall)),
];
const unused = (permitted: readonly Grant[], found: readonly Call[]) => {
  const used = new Set(permitted.filter((grant) => found.some((call) => allows(grant, call))).map(describeCall));
  return [...new Set(permitted.map(describeCall))].filter((grant) => !used.has(grant));
};

describe('the IAM policies of operators', () => {
  it('are compared with all commands', () => {
    expect([...ran].toSorted()).toEqual(commandNames(createProgram()).toSorted());
  });

  it('allow every call of the commands that read, and of all with the policy of changes', () => {
    expect(denied(calls.read, grants.read)).toEqual([]);
    expect(denied(calls.change, [...grants.read, ...grants.change])).toEqual([]);
  });

  it('allow nothing else', () => {
    expect(unused(grants.read, calls.read)).toEqual([]);
    expect(unused(grants.change, calls.change)).toEqual([]);
  });
});
