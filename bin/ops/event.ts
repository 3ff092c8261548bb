import { SendMessageCommand } from '@aws-sdk/client-sqs';
import { type Command, Option } from 'commander';
import { type AlarmEvent, type AlarmState, alarmStates, planLists } from '../../shared/contracts/alarm-event.ts';
import { messageBody } from '../../shared/contracts/messages.ts';
import { DEFAULT_NOTIFICATION_ID } from '../../shared/domain/notification-id.ts';
import { testEvent } from '../../shared/domain/test-event.ts';
import { examples, parseTenant } from './arguments.ts';
import { OperationError, UsageError } from './errors.ts';
import {
  type CheckedEvent,
  type CheckedOnline,
  checkEvents,
  checkOnline,
  describeSource,
  findings,
  isUseless,
  type OnlineFindings,
  readEvents,
  withAdvice,
} from './event-check.ts';
import { addEventTraceCommand } from './event-trace.ts';
import { colorize, pluralize, printResult, sanitize, toJson } from './print.ts';
import { connect, connectForChange, printsJson } from './session.ts';

export const addEventCommands = (program: Command): void => {
  const event = program.command('event').description('print, check, send or trace alarm events');
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
      'validate alarm events without sending them, and name what would not be delivered: notifications that do not exist, and event IDs that were already used',
    )
    .argument('[files...]', 'files with one event as JSON, an array, or one event per line; - is standard input', ['-'])
    .option('--offline', 'use no stack: do not look up notifications and event IDs', false)
    .option('--strict', 'also exit with 1 if there are only warnings', false)
    .addHelpText(
      'after',
      `
Errors are what dispatch dead-letters; events with warnings are delivered. Exits with 1 if an event has errors or
anything would not be delivered.
${examples('event check event.json', 'event check --offline --strict events.ndjson', 'event check - < event.json')}`,
    )
    .action(check);
  event
    .command('send')
    .description('check an alarm event and send it to the alarm-events queue')
    .argument('<file>', 'a file with one event as JSON, or - for standard input')
    .option('--force', 'send it even if its event_id was already used', false)
    .addHelpText(
      'after',
      examples('event send event.json', 'event send - --stack MonitoringNotifications < event.json'),
    )
    .action(send);
  addEventTraceCommand(event);
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
  const [checked, ...others] = withAdvice(checkEvents(await readEvents([file]), Date.now()));
  if (checked === undefined || others.length > 0) throw new UsageError(`${file} contains several events: send one.`);
  const { input, planned } = checked;
  if (!planned) {
    throw new OperationError(`${describeSource(input)} is not a valid alarm event: ${describeErrors(checked)}.`);
  }
  const { shared, ids } = planned;
  const session = await connectForChange(command);
  const [online] = await checkOnline(session, [{ planned, input }]);
  const found = online?.online ?? { unknown: [], used: [] };
  const eventWarnings = [...checked.warnings, ...(online?.warnings ?? [])];
  const warnings = [...eventWarnings.map(describeWarning), ...findings(found)];
  if (isUseless(planned, found) && !force) {
    throw new OperationError(`Not sent. ${warnings.join(' ')} Change event_id, or pass --force.`);
  }
  const { MessageId } = await session.sqs.send(
    new SendMessageCommand({
      QueueUrl: session.deployment.outputs.QueueUrls['alarm-events'].queue,
      MessageBody: messageBody(input.text),
      MessageGroupId: shared.header.tenant_id,
    }),
  );
  session.print(
    {
      message_id: MessageId,
      event_id: shared.header.event_id,
      notifications: ids,
      warnings: eventWarnings,
      ...found,
    },
    `Sent as ${MessageId}. Its plan lists ${pluralize(ids.length, 'notification')} for this state change.`,
    warnings.join('\n'),
  );
};

type CheckOptions = { offline: boolean; strict: boolean };

const check = async (files: string[], { offline, strict }: CheckOptions, command: Command): Promise<void> => {
  const checked = withAdvice(checkEvents(await readEvents(files), Date.now()));
  const found = offline ? undefined : await findOnline(command, checked);
  const reports = checked.map((each) => {
    const { online, warnings = [] } = found?.get(each) ?? {};
    return { ...each, warnings: [...each.warnings, ...warnings], online };
  });
  const { value, text } = describeReports(reports);
  printResult(printsJson(command), value, text);
  const isFailed = ({ errors, warnings, online }: (typeof reports)[number]): boolean =>
    errors.length > 0 || (strict && warnings.length > 0) || (online !== undefined && findings(online).length > 0);
  if (reports.some(isFailed)) process.exitCode = 1;
};

/** Looks up the valid events. A stack is needed even if there are none, so that a wrong option is always reported. */
const findOnline = async (
  command: Command,
  checked: readonly CheckedEvent[],
): Promise<ReadonlyMap<CheckedEvent, CheckedOnline>> => {
  const session = await connect(command);
  const valid = checked.flatMap((each) => (each.planned ? [{ each, planned: each.planned, input: each.input }] : []));
  const found = await checkOnline(session, valid);
  return new Map(valid.flatMap(({ each }, index) => (found[index] ? [[each, found[index]] as const] : [])));
};

/** A checked event with what its stack says about it; undefined if it was not asked. */
export type EventReport = CheckedEvent & { online: OnlineFindings | undefined };

/** Returns the errors of an event as one text, with the position of a syntax error. */
export const describeErrors = ({ errors, input }: Pick<CheckedEvent, 'errors' | 'input'>): string =>
  errors.join('; ') + syntaxErrorOf(input.text);

export const describeWarning = (warning: string): string => `Warning: ${warning}.`;

/** Returns the position of a syntax error in parentheses. Unlike an error, it can contain a part of the event. */
const syntaxErrorOf = (text: string): string => {
  try {
    JSON.parse(text);
    return '';
  } catch (error) {
    return error instanceof SyntaxError ? ` (${sanitize(error.message.split('\n', 1)[0] ?? '')})` : '';
  }
};

const nameOf = ({ input, ids }: EventReport): string =>
  [describeSource(input), ...(ids.event_id === undefined ? [] : [sanitize(ids.event_id)])].join(', ');

const problemsOf = (report: EventReport): string[] => [
  ...(report.errors.length > 0 ? [colorize('red', `Error: ${describeErrors(report)}.`)] : []),
  ...report.warnings.map((warning) => colorize('yellow', describeWarning(warning))),
  ...(report.online ? findings(report.online) : []),
];

const summaryOf = (reports: readonly EventReport[]): string => {
  const count = (matches: (report: EventReport) => boolean): number => reports.filter(matches).length;
  const counts = [
    [count(({ errors }) => errors.length > 0), 'with errors'],
    [count(({ warnings }) => warnings.length > 0), 'with warnings'],
    [count(({ online }) => online !== undefined && findings(online).length > 0), 'not delivered to all of its plan'],
  ] as const;
  const found = counts.flatMap(([number, what]) => (number > 0 ? [`${number} ${what}`] : []));
  return `${pluralize(reports.length, 'event')}: ${found.join(', ') || 'all valid'}.`;
};

const singleSummary = ({ input, planned }: EventReport): string =>
  `${describeSource(input)} is ${planned ? 'a valid' : 'not a valid'} alarm event.${
    planned ? ` Its plan lists ${pluralize(planned.ids.length, 'notification')} for this state change.` : ''
  }`;

/** Returns the reports for `--json`, and as text: the events with problems, and a summary. */
export const describeReports = (reports: readonly EventReport[]): { value: unknown; text: string } => {
  const [first, ...others] = reports;
  const problems = reports.flatMap((report) => {
    const lines = problemsOf(report);
    return lines.length > 0 ? [nameOf(report), ...lines.map((line) => `  ${line}`)] : [];
  });
  const summary = first && others.length === 0 ? singleSummary(first) : summaryOf(reports);
  return {
    value: reports.map(({ input: { text: _, ...source }, ids, errors, warnings, planned, online }) => ({
      ...source,
      ...ids,
      errors,
      warnings,
      ...(planned && { notifications: planned.ids }),
      ...online,
    })),
    text: [...problems, summary].join('\n'),
  };
};
