/** `npm run -s ops -- …`: the operators' command line. Each group of commands is a file in `ops/`. */
import { Command, CommanderError } from 'commander';
import { addAccountCommands } from './ops/account.ts';
import { examples, readNumber } from './ops/arguments.ts';
import { addDeadLettersCommands } from './ops/dead-letters.ts';
import { addDeliveriesCommand } from './ops/deliveries.ts';
import { DEFAULT_STACK } from './ops/deployment.ts';
import { addEventCommands } from './ops/event.ts';
import { sentence, UsageFailure } from './ops/failure.ts';
import { addStatusCommand } from './ops/status.ts';
import { addTokenCommands } from './ops/token.ts';

/** Commands inherit what is set here when they are added, so it comes first. */
const program = new Command('npm run -s ops --')
  .description('Operates a running stack: the local one where there is one, else the deployed one.')
  .option('--json', 'answer with one line of JSON on standard output')
  .option('--outputs <file>', 'the stack whose outputs `cdk deploy --outputs-file` wrote')
  .option('--stack <name>', `a deployed stack (of several in the file of --outputs, too); else ${DEFAULT_STACK}`)
  .option('--local <port>', 'the local stack whose API has this port, where several run', readNumber(65_535))
  .configureHelp({ showGlobalOptions: true })
  .exitOverride()
  .addHelpText(
    'after',
    `${examples('status', 'token create --help')}

Exit codes: 0 done, 1 failed, 2 not understood.`,
  );

addTokenCommands(program);
addAccountCommands(program);
addEventCommands(program);
addDeliveriesCommand(program);
addDeadLettersCommands(program);
addStatusCommand(program);

// Whoever reads the output may have seen enough (`… | head`).
process.stdout.on('error', () => process.exit());

try {
  await program.parseAsync();
} catch (error) {
  process.exitCode = exitCode(error);
  // Commander has explained its own errors already.
  if (!(error instanceof CommanderError)) process.stderr.write(`${sentence(error)}\n`);
}

function exitCode(error: unknown): 0 | 1 | 2 {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  return error instanceof UsageFailure ? 2 : 1;
}
