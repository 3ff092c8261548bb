import { readFileSync } from 'node:fs';
import { text as readAll } from 'node:stream/consumers';
import { SendMessageCommand } from '@aws-sdk/client-sqs';
import { type Command, Option } from 'commander';
import { type AlarmEvent, type AlarmState, alarmEvent, alarmStates } from '../../shared/contracts/alarm-event.ts';
import { parseJson } from '../../shared/contracts/json.ts';
import { DEFAULT_NOTIFICATION_ID } from '../../shared/domain/notification-id.ts';
import { MAX_EVENT_BYTES } from '../../shared/domain/planned-event.ts';
import { plannedNotifications } from '../../shared/domain/routing.ts';
import { testEvent } from '../../shared/domain/test-event.ts';
import { examples, parseTenant } from './arguments.ts';
import { errorSummary, OperationError } from './errors.ts';
import { pluralize } from './print.ts';
import { connectForChange } from './session.ts';

/** Adds `event`: example alarm events, and sending events. */
export const addEventCommands = (program: Command): void => {
  const event = program.command('event').description('print or send alarm events');
  event
    .command('example')
    .description('print a valid alarm event')
    .option('--tenant <tenant>', 'the tenant of the alarm', parseTenant, 'acme')
    .option('--notification <ids...>', 'the notifications in its plan', [DEFAULT_NOTIFICATION_ID])
    .addOption(new Option('--state <state>', 'the state of the alarm').choices(alarmStates).default('CRITICAL'))
    .addHelpText('after', examples('event example > event.json', 'event example | npm run -s ops -- event send -'))
    .action(example);
  event
    .command('send')
    .description('validate an alarm event and send it to the alarm-events queue')
    .argument('<file>', 'a file with one event as JSON, or - for standard input')
    .addHelpText(
      'after',
      examples('event send event.json', 'event send - --stack MonitoringNotifications < event.json'),
    )
    .action(send);
};

type ExampleOptions = { tenant: string; notification: string[]; state: AlarmState };

const PLAN_LISTS = { OK: 'ok_state', WARNING: 'warning_state', CRITICAL: 'critical_state' } as const;

const example = ({ tenant, notification, state }: ExampleOptions): void => {
  const now = Date.now();
  const { details, ...rest } = testEvent(tenant, now);
  const event: AlarmEvent = {
    ...rest,
    event_id: `${tenant}:enTest:alTest:chTest:${now}:${state}`,
    details: { ...details, state, status: 'This is an example of an alarm event.' },
    previous_state: state === 'OK' ? 'CRITICAL' : 'OK',
    notification_plan: { id: 'npTest', [PLAN_LISTS[state]]: notification },
  };
  process.stdout.write(`${JSON.stringify(event, null, 2)}\n`);
};

const send = async (file: string, _: object, command: Command): Promise<void> => {
  const body = await read(file);
  const { event, ids } = validate(body, file === '-' ? 'Standard input' : file);
  const { sqs, deployment, print } = await connectForChange(command);
  const { MessageId } = await sqs.send(
    new SendMessageCommand({
      QueueUrl: deployment.outputs.QueueUrls['alarm-events'].queue,
      MessageBody: body,
      MessageGroupId: event.tenant_id,
    }),
  );
  const planned = `Its plan lists ${pluralize(ids.length, 'notification')} for this state change.`;
  print({ message_id: MessageId, event_id: event.event_id, notifications: ids }, `Sent as ${MessageId}. ${planned}`);
};

const read = async (file: string): Promise<string> => {
  try {
    return file === '-' ? await readAll(process.stdin) : readFileSync(file, 'utf8');
  } catch (error) {
    throw new OperationError(`${file} cannot be read: ${errorSummary(error)}`);
  }
};

/**
 * Returns the event and the IDs of its planned notifications.
 *
 * @throws OperationError if dispatch would dead-letter it
 */
const validate = (text: string, source: string): { event: AlarmEvent; ids: string[] } => {
  const invalid = (reason: string) => new OperationError(`${source} is not a valid alarm event: ${reason}.`);
  const parsed = alarmEvent.safeParse(parse(text, source));
  if (!parsed.success) {
    throw invalid(parsed.error.issues.map(({ path, message }) => `${path.join('.') || 'it'} ${message}`).join('; '));
  }
  const ids = plannedNotifications(parsed.data);
  if (!ids) throw invalid('notification_plan must be an object with lists of notification IDs');
  if (Buffer.byteLength(text) > MAX_EVENT_BYTES) throw invalid('it is larger than 900 KiB');
  return { event: parsed.data, ids };
};

const parse = (text: string, source: string): unknown => {
  try {
    return parseJson(text);
  } catch (error) {
    throw new OperationError(
      `${source} is not JSON: ${error instanceof Error ? error.message.split('\n', 1)[0] : error}.`,
    );
  }
};
