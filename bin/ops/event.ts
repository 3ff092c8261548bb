import { readFileSync } from 'node:fs';
import { text as readAll } from 'node:stream/consumers';
import { SendMessageCommand } from '@aws-sdk/client-sqs';
import { type Command, Option } from 'commander';
import { type AlarmEvent, type AlarmState, alarmStates } from '../../shared/contracts/alarm-event.ts';
import { messageBody } from '../../shared/contracts/message-body.ts';
import { planLists } from '../../shared/contracts/notification-plan.ts';
import { DEFAULT_NOTIFICATION_ID } from '../../shared/domain/notification-id.ts';
import { isInvalidEvent, type PlannedEvent, planEvent } from '../../shared/domain/planned-event.ts';
import { testEvent } from '../../shared/domain/test-event.ts';
import { examples, parseTenant } from './arguments.ts';
import { errorSummary, OperationError } from './errors.ts';
import { checkEvent, findings, isUseless } from './event-check.ts';
import { pluralize, toJson } from './print.ts';
import { connect, connectForChange } from './session.ts';

const FILE_ARGUMENT = 'a file with one event as JSON, or - for standard input';

/** Adds `event`: example alarm events, and sending events. */
export const addEventCommands = (program: Command): void => {
  const event = program.command('event').description('print, check or send alarm events');
  event
    .command('example')
    .description('print a valid alarm event')
    .option('--tenant <tenant>', 'the tenant of the alarm', parseTenant, 'acme')
    .option('--notification <ids...>', 'the notifications in its plan', [DEFAULT_NOTIFICATION_ID])
    .addOption(new Option('--state <state>', 'the state of the alarm').choices(alarmStates).default('CRITICAL'))
    .addHelpText('after', examples('event example > event.json', 'event example | npm run -s ops -- event send -'))
    .action(example);
  event
    .command('check')
    .description(
      'validate an alarm event without sending it, and name what would not be delivered: notifications that do not exist, and an event_id that was already used',
    )
    .argument('<file>', FILE_ARGUMENT)
    .addHelpText(
      'after',
      `\nExits with 1 if the event is invalid or anything would not be delivered.\n${examples('event check event.json', 'event check - < event.json')}`,
    )
    .action(check);
  event
    .command('send')
    .description('check an alarm event and send it to the alarm-events queue')
    .argument('<file>', FILE_ARGUMENT)
    .option('--force', 'send it even if its event_id was already used', false)
    .addHelpText(
      'after',
      examples('event send event.json', 'event send - --stack MonitoringNotifications < event.json'),
    )
    .action(send);
};

type ExampleOptions = { tenant: string; notification: string[]; state: AlarmState };

const example = ({ tenant, notification, state }: ExampleOptions): void => {
  const now = Date.now();
  const { details, ...rest } = testEvent(tenant, now);
  const event: AlarmEvent = {
    ...rest,
    event_id: `${tenant}:enTest:alTest:chTest:${now}:${state}`,
    details: { ...details, state, status: 'This is an example of an alarm event.' },
    previous_state: state === 'OK' ? 'CRITICAL' : 'OK',
    notification_plan: { id: 'npTest', [planLists[state]]: notification },
  };
  process.stdout.write(`${toJson(event, undefined, 2)}\n`);
};

type SendOptions = { force: boolean };

const send = async (file: string, { force }: SendOptions, command: Command): Promise<void> => {
  const { body, planned } = await readEvent(file);
  const { event, ids } = planned;
  const session = await connectForChange(command);
  const check = await checkEvent(session, planned);
  const warnings = findings(check).join('\n');
  if (isUseless(planned, check) && !force) {
    throw new OperationError(`Not sent. ${warnings.replaceAll('\n', ' ')} Change event_id, or pass --force.`);
  }
  const { MessageId } = await session.sqs.send(
    new SendMessageCommand({
      QueueUrl: session.deployment.outputs.QueueUrls['alarm-events'].queue,
      MessageBody: messageBody(body),
      MessageGroupId: event.tenant_id,
    }),
  );
  session.print(
    { message_id: MessageId, event_id: event.event_id, notifications: ids, ...check },
    `Sent as ${MessageId}. Its plan lists ${pluralize(ids.length, 'notification')} for this state change.`,
    warnings,
  );
};

const check = async (file: string, _: object, command: Command): Promise<void> => {
  const { planned } = await readEvent(file);
  const { event, ids } = planned;
  const session = await connect(command);
  const result = await checkEvent(session, planned);
  const found = findings(result);
  const summary = `${sourceOf(file)} is a valid alarm event. Its plan lists ${pluralize(ids.length, 'notification')} for this state change.`;
  session.print({ event_id: event.event_id, notifications: ids, ...result }, [summary, ...found].join('\n'));
  if (found.length > 0) process.exitCode = 1;
};

const sourceOf = (file: string): string => (file === '-' ? 'Standard input' : file);

const read = async (file: string): Promise<string> => {
  try {
    return file === '-' ? await readAll(process.stdin) : readFileSync(file, 'utf8');
  } catch (error) {
    throw new OperationError(`${file} cannot be read: ${errorSummary(error)}`);
  }
};

/**
 * Reads an event, and plans it as dispatch does.
 *
 * @throws OperationError if dispatch would dead-letter it
 */
const readEvent = async (file: string): Promise<{ body: string; planned: PlannedEvent }> => {
  const body = await read(file);
  const invalid = (detail: string) => new OperationError(`${sourceOf(file)} is not a valid alarm event: ${detail}.`);
  const planned = planEvent(body, Date.now());
  if (isInvalidEvent(planned)) throw invalid(planned.errors.join('; ') + syntaxErrorOf(body));
  if (planned.isContinuation) throw invalid('only the service sends a continuation');
  return { body, planned };
};

/** Returns the position of a syntax error in parentheses. Unlike the detail, it can contain a part of the event. */
const syntaxErrorOf = (text: string): string => {
  try {
    JSON.parse(text);
    return '';
  } catch (error) {
    return error instanceof SyntaxError ? ` (${error.message.split('\n', 1)[0]})` : '';
  }
};
