/** `npm run -s ops -- …`: the command line for operators. Each group of commands has a file in `ops/`. */
import { Command, CommanderError } from 'commander';
import { addAccountCommands } from './ops/account.ts';
import { examples, parseNumber } from './ops/arguments.ts';
import { addDeadLettersCommands } from './ops/dead-letters.ts';
import { addDeliveriesCommand } from './ops/deliveries.ts';
import { DEFAULT_STACK } from './ops/deployment.ts';
import { errorSummary, UsageError } from './ops/errors.ts';
import { addEventCommands } from './ops/event.ts';
import { addStatusCommand } from './ops/status.ts';
import { addTenantCommands } from './ops/tenant.ts';
import { addTokenCommands } from './ops/token.ts';

const exitCodeOf = (error: unknown): 0 | 1 | 2 => {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  return error instanceof UsageError ? 2 : 1;
};

// Commands inherit the configuration of the program when they are added, so it comes first.
const program = new Command('npm run -s ops --')
  .description('Operates the running local stack, or the deployed stack if no local one runs.')
  .option('--json', 'print one line of JSON on standard output')
  .option('--outputs <file>', 'use the stack whose outputs `cdk deploy --outputs-file` wrote to this file')
  .option('--stack <name>', `use the deployed stack with this name (default: ${DEFAULT_STACK})`)
  .option('--local <port>', 'use the local stack whose API has this port, if several run', parseNumber(65_535))
  .configureHelp({ showGlobalOptions: true })
  .exitOverride()
  .addHelpText(
    'after',
    `${examples('status', 'token create --help')}

Exit codes: 0 success, 1 failure, 2 invalid arguments.`,
  );

addTokenCommands(program);
addAccountCommands(program);
addEventCommands(program);
addDeliveriesCommand(program);
addDeadLettersCommands(program);
addStatusCommand(program);
addTenantCommands(program);

// The reader of a pipe may close it early (`… | head`).
process.stdout.on('error', () => process.exit());

try {
  await program.parseAsync();
} catch (error) {
  process.exitCode = exitCodeOf(error);
  // Commander prints its own errors.
  if (!(error instanceof CommanderError)) process.stderr.write(`${errorSummary(error)}\n`);
}
