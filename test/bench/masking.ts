import { responseText } from '../../shared/domain/response-text.ts';
import { largestHeaders } from '../support/notifications.ts';
import { median, type Section } from './support/report.ts';

const RUNS = 200;
/** The time that masking may take, with 16 KB of a response and of secrets. */
const MAX_MS = 5;

const secrets = Object.values(largestHeaders());
const echo = secrets.join('');

/** Responses of 16 KB. */
const responses: Readonly<Record<string, string>> = {
  'an echo of the secrets': echo,
  'an echo with `%xx`': Buffer.from(echo).toString('hex').replace(/../g, '%$&'),
  'an echo with `\\u00xx`': Buffer.from(echo).toString('hex').replace(/../g, '\\u00$&'),
  'an echo with `&#x…;`': Buffer.from(echo).toString('hex').replace(/../g, '&#x$&;'),
  'an echo of seven characters of each run': echo.replace(/(.{7})./g, '$1 x'),
  'other text': 'The server is not available. '.repeat(600),
};

const millisecondsOf = (response: string): number => {
  const { user: before } = process.cpuUsage();
  responseText(response, secrets);
  return (process.cpuUsage().user - before) / 1_000;
};

/** Measures the CPU time of masking secrets in the response of a destination that failed. */
export const benchMasking = async (): Promise<Section> => {
  const measured = Object.entries(responses).map(([name, response]) => {
    const runs = Array.from({ length: RUNS }, () => millisecondsOf(response));
    // Half of them, after V8 has compiled the code.
    return { name, ms: median(runs.slice(RUNS / 2)) };
  });
  return {
    title: 'CPU time of masking 16 KB of secrets in a response of 16 KB',
    columns: ['response', 'ms'],
    rows: measured.map(({ name, ms }) => [name, ms.toFixed(2)]),
    note: `Medians of ${RUNS / 2} runs.`,
    brokenBars: measured.filter(({ ms }) => ms >= MAX_MS).map(({ name }) => `${name}: not below ${MAX_MS} ms`),
  };
};
