/** `npm run -s cost -- …`: the monthly bill of a deployed stack. */
import { Command, InvalidArgumentError } from 'commander';
import { type NotificationTypeId, notificationTypeIds } from '../../shared/contracts/notification-types.ts';
import { addSetting } from '../local/settings.ts';
import { errorSummary } from '../ops/errors.ts';
import { formatTable, printResult } from '../ops/print.ts';
import { billOf, type Load, monthlyUsage, RECORD_BYTES, REQUEST_BYTES, readMeasuredUnits } from './units.ts';

type Options = Omit<Load, 'shares'> & {
  events: number;
  types?: Load['shares'];
  setting?: Record<string, string>;
  json: boolean;
};

const parseDecimal =
  (minimum: number, maximum: number) =>
  (text: string): number => {
    const value = Number(text);
    if (/^\d+(\.\d+)?$/.test(text) && value >= minimum && value <= maximum) return value;
    throw new InvalidArgumentError(`It must be a number from ${minimum} to ${maximum.toLocaleString('en-US')}.`);
  };

const parseShares = (text: string): Map<NotificationTypeId, number> => {
  const shares = text.split(',').map((part): [NotificationTypeId | undefined, number] => {
    const [, name, share] = /^(\w+)=(\d+(?:\.\d+)?)$/.exec(part) ?? [];
    return [notificationTypeIds.find((type) => type === name), Number(share)];
  });
  const found = new Map(shares.flatMap(([type, share]) => (type ? [[type, share] as const] : [])));
  const total = [...found.values()].reduce((sum, share) => sum + share, 0);
  if (found.size === shares.length && Math.abs(total - 1) < 1e-6) return found;
  throw new InvalidArgumentError(
    `Write shares that add up to 1, such as webhook=0.7,email=0.3. The types are ${notificationTypeIds.join(', ')}.`,
  );
};

const ONLY_WEBHOOKS: Load['shares'] = new Map([['webhook', 1]]);

const dollars = (usd: number): string =>
  `$${usd.toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;

const show = async ({ events, setting = {}, types = ONLY_WEBHOOKS, json, ...load }: Options): Promise<void> => {
  const { synthesize } = await import('../local/assembly.ts');
  const { template, remove } = synthesize(setting);
  remove();
  const measured = readMeasuredUnits();
  const { version, date, receiverLatencyMs, awsLatencyMs } = measured;
  const bill = billOf(monthlyUsage(measured, { ...load, shares: types }, events, template));
  const parts = [...bill].map(([part, usd]) => ({ part, usd }));
  const total = parts.reduce((sum, { usd }) => sum + usd, 0);
  const assumptions = [
    'Prices are those of us-east-1 in 2026, without free tier and taxes. A month has 30 days.',
    `The producer sends ${events.toLocaleString('en-US')} alarm events of 2.5 KB one by one. Every delivery succeeds at the first attempt.`,
    `Requests, log lines and time per event are those that "npm run bench cost" measured for version ${version} on ${date}: functions with the default memory, receivers that respond after ${receiverLatencyMs} ms, AWS after ${awsLatencyMs} ms.`,
    `Delivery records have ${RECORD_BYTES} bytes and are stored for 30 days. Requests to receivers have ${REQUEST_BYTES / 1e3} KB. Metrics have values in every hour.`,
    'The idle stack polls empty queues all month, although polls that find messages are counted as queues.',
    'Emails have one recipient, SMS one part in the US, without carrier fees.',
    'Not included: cold starts, requests to the API, notices, trace contexts, what static egress charges per GB.',
  ];
  const table = formatTable(
    [...parts, { part: 'total', usd: total }],
    [
      ['per month', ({ part }) => part],
      ['USD', ({ usd }) => dollars(usd), 'right'],
    ],
  );
  printResult(
    json,
    { events, ...load, types: Object.fromEntries(types), total_usd: total, parts, assumptions },
    `${table}\nAssumptions:\n${assumptions.map((assumption) => `- ${assumption}`).join('\n')}`,
  );
};

const program = new Command('npm run -s cost --')
  .description('Computes what a deployed stack costs in a month, from the measured requests per alarm event.')
  .requiredOption('--events <number>', 'alarm events per month; 0 for an idle stack', parseDecimal(0, 1e12))
  .option('--destinations <number>', 'destinations of an event, on average', parseDecimal(0, 10_000), 1)
  .option(
    '--batch <number>',
    'messages in a batch, on average (docs/operations.md#when-batches-are-full)',
    parseDecimal(1, 10),
    1,
  )
  .option('--types <shares>', 'share of each type in the destinations (default: webhook=1)', parseShares)
  .option('-c, --setting <name=value>', 'a setting of the stack, as for cdk; can be repeated', addSetting)
  .option('--json', 'print one line of JSON', false)
  .action(show)
  .addHelpText(
    'after',
    `
Examples:
  npm run -s cost -- --events 5000000 --destinations 1.4
  npm run -s cost -- --events 5000000 --batch 10 --types webhook=0.7,email=0.3 -c stage=prod`,
  );

// Settings that are invalid, and types that have not been measured.
await program.parseAsync().catch((error: unknown) => program.error(errorSummary(error)));
