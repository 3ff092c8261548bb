import { readFileSync } from 'node:fs';
import { text as readAll } from 'node:stream/consumers';
import { SendMessageCommand } from '@aws-sdk/client-sqs';
import { type Command, Option } from 'commander';
import { type AlarmEvent, type AlarmState, alarmEvent, alarmStates } from '../../shared/contracts/alarm-event.ts';
import { parseJson } from '../../shared/contracts/json.ts';
import { DEFAULT_NOTIFICATION_ID } from '../../shared/domain/notification-id.ts';
import { plannedNotifications } from '../../shared/domain/routing.ts';
import { testEvent } from '../../shared/domain/test-event.ts';
import { examples, readTenant } from './arguments.ts';
import { Failure, sentence } from './failure.ts';
import { amount } from './print.ts';
import { connect } from './session.ts';

/** Dispatch dead-letters events above this size, in bytes. */
const MAX_EVENT_BYTES = 900 * 1024;

/** `event`: what the alarm pipeline sends. */
export function addEventCommands(program: Command): void {
  const event = program.command('event').description('alarm events, as the alarm pipeline sends them');
  event
    .command('example')
    .description('print a valid alarm event')
    .option('--tenant <tenant>', 'whose alarm it is', readTenant, 'acme')
    .option('--notification <ids...>', 'who is to hear of it', [DEFAULT_NOTIFICATION_ID])
    .addOption(new Option('--state <state>', 'the state of the alarm').choices(alarmStates).default('CRITICAL'))
    .addHelpText('after', examples('event example > event.json', 'event example | npm run -s ops -- event send -'))
    .action(example);
  event
    .command('send')
    .description('check an alarm event and put it on the queue of the alarm events')
    .argument('<file>', 'a file with one event as JSON; - is standard input')
    .addHelpText('after', examples('event send event.json', 'event send - < event.json'))
    .action(send);
}

type ExampleOptions = { tenant: string; notification: string[]; state: AlarmState };

const planLists = { OK: 'ok_state', WARNING: 'warning_state', CRITICAL: 'critical_state' } as const;

function example({ tenant, notification, state }: ExampleOptions): void {
  const now = Date.now();
  const { details, ...rest } = testEvent(tenant, now);
  const event: AlarmEvent = {
    ...rest,
    event_id: `${tenant}:enTest:alTest:chTest:${now}:${state}`,
    details: { ...details, state, status: 'This is an example of an alarm event.' },
    previous_state: state === 'OK' ? 'CRITICAL' : 'OK',
    notification_plan: { id: 'npTest', [planLists[state]]: notification },
  };
  process.stdout.write(`${JSON.stringify(event, null, 2)}\n`);
}

async function send(file: string, _: object, command: Command): Promise<void> {
  const body = await read(file);
  const { event, ids } = check(body, file === '-' ? 'Standard input' : file);
  const { sqs, target, answer } = await connect(command);
  const { MessageId } = await sqs.send(
    new SendMessageCommand({
      QueueUrl: target.outputs.QueueUrls['alarm-events'].queue,
      MessageBody: body,
      MessageGroupId: event.tenant_id,
    }),
  );
  const heard = `Its plan names ${amount(ids.length, 'notification')} for this change of state.`;
  answer({ message_id: MessageId, event_id: event.event_id, notifications: ids }, `Sent as ${MessageId}. ${heard}`);
}

async function read(file: string): Promise<string> {
  try {
    return file === '-' ? await readAll(process.stdin) : readFileSync(file, 'utf8');
  } catch (error) {
    throw new Failure(`${file} cannot be read: ${sentence(error)}`);
  }
}

/** The event in the text, and the notifications that its plan names. @throws Failure for an event that dispatch would dead-letter */
function check(text: string, source: string): { event: AlarmEvent; ids: string[] } {
  const wrong = (what: string) => new Failure(`${source} is no alarm event: ${what}.`);
  const parsed = alarmEvent.safeParse(parse(text, source));
  if (!parsed.success) {
    throw wrong(parsed.error.issues.map(({ path, message }) => `${path.join('.') || 'it'} ${message}`).join('; '));
  }
  const ids = plannedNotifications(parsed.data);
  if (!ids) throw wrong('notification_plan must be an object whose lists hold ids of notifications');
  if (Buffer.byteLength(text) > MAX_EVENT_BYTES) throw wrong('it is larger than 900 KiB');
  return { event: parsed.data, ids };
}

function parse(text: string, source: string): unknown {
  try {
    return parseJson(text);
  } catch (error) {
    throw new Failure(`${source} is not JSON: ${error instanceof Error ? error.message.split('\n', 1)[0] : error}.`);
  }
}
