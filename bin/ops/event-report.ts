import { type CheckedEvent, findings, type OnlineFindings } from './event-check.ts';
import { describeSource } from './event-input.ts';
import { colorize, pluralize, sanitize } from './print.ts';

/** A checked event with what its stack says about it; undefined if it was not asked. */
export type EventReport = CheckedEvent & { online: OnlineFindings | undefined };

/** Returns the errors of an event as one text, with the position of a syntax error. */
export const describeErrors = ({ errors, input }: Pick<CheckedEvent, 'errors' | 'input'>): string =>
  errors.join('; ') + syntaxErrorOf(input.text);

/** Returns a warning as a sentence. */
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

/** Returns one line of all events: how many have errors, warnings, or notifications that do not get them. */
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

/** Returns the sentence about a valid event that was checked alone. */
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
