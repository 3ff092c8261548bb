import type { Command } from 'commander';
import { examples } from './arguments.ts';
import { type Color, colorize, pluralize, sanitize } from './print.ts';
import { connectForChange } from './session.ts';
import type { Result } from './verify/verify-deployment.ts';

export const addVerifyCommand = (program: Command): void => {
  program
    .command('verify')
    .description(
      'check a deployment: the API and the endpoints of pager, router and feed respond, an event reaches the operators, event sources are enabled, and quotas and sandboxes of the account suffice',
    )
    .addHelpText(
      'after',
      `
Sends one to three recoveries to the operators' topic. Deletes everything that it creates. Takes up to five minutes.
Exits with 1 if a check fails.
${examples('verify --stack MonitoringNotifications', 'verify --stack MonitoringNotifications --json')}`,
    )
    .action(verify);
};

const verify = async (_: object, command: Command): Promise<void> => {
  const session = await connectForChange(command);
  // Loaded on demand: no other command needs these clients.
  const { verifyDeployment } = await import('./verify/verify-deployment.ts');
  const results = await verifyDeployment(session).finally(session.progress.clear);
  const failures = results.filter(({ status }) => status === 'failed').length;
  const summary = failures === 0 ? 'No check failed.' : `${pluralize(failures, 'check')} failed.`;
  const value = { stack: session.deployment.name, failed: failures, checks: results };
  session.print(value, [...results.map(line), summary].join('\n'));
  if (failures > 0) process.exitCode = 1;
};

const STATUS: Record<Result['status'], [text: string, color: Color]> = {
  ok: ['ok     ', 'green'],
  failed: ['FAILED ', 'red'],
  skipped: ['–      ', 'dim'],
};

const line = ({ status, name, proves, found, resolve }: Result): string => {
  const [text, color] = STATUS[status];
  const next = resolve === null ? '' : `. To resolve: ${resolve}`;
  return `${colorize(color, text)} ${name}: ${proves} (${sanitize(found)})${next}.`;
};
