import { Command, Option } from 'commander';
import packageJson from '../../package.json' with { type: 'json' };
import { addAccountCommands } from './account.ts';
import { examples, parseNumber } from './arguments.ts';
import { addAuditsCommand } from './audits.ts';
import { addDeadLettersCommands } from './dead-letters.ts';
import { addDeliveriesCommand } from './deliveries.ts';
import { DEFAULT_STACK, STACK_VARIABLE } from './deployment.ts';
import { addEventCommands } from './event.ts';
import { addOptOutsCommands } from './opt-outs.ts';
import { addReportCommand } from './report.ts';
import { addStatusCommand } from './status.ts';
import { addTenantCommands } from './tenant.ts';
import { addTenantsCommand } from './tenants.ts';
import { addTokenCommands } from './token.ts';
import { addVerifyCommand } from './verify.ts';

export const createProgram = (): Command => {
  // Commands inherit the configuration of the program when they are added, so it comes first.
  const program = new Command('npm run -s ops --')
    .description('Operates the running local stack, or a deployed stack.')
    .option('--json', 'print one line of JSON on standard output')
    .version(packageJson.version, '--version', 'print the version of the command line')
    .option('--stack <name>', `use the deployed stack with this name, such as ${DEFAULT_STACK}`)
    .addOption(
      new Option('--local <port>', 'use the local stack whose API has this port')
        .argParser(parseNumber(65_535))
        .conflicts('stack'),
    )
    .configureHelp({ showGlobalOptions: true })
    .exitOverride()
    .addHelpText(
      'after',
      `
The environment variable ${STACK_VARIABLE} replaces --stack. Without it and --local, all commands use the local stack if exactly one runs. If none runs, commands
that only read use the deployed stack ${DEFAULT_STACK}; commands that change a stack or show secrets fail.
${examples('status', 'status --stack MonitoringNotifications', 'token create --help')}

Exit codes: 0 success, 1 failure, 2 invalid arguments.`,
    );
  addTokenCommands(program);
  addAccountCommands(program);
  addEventCommands(program);
  addDeliveriesCommand(program);
  addAuditsCommand(program);
  addOptOutsCommands(program);
  addDeadLettersCommands(program);
  addStatusCommand(program);
  addVerifyCommand(program);
  addReportCommand(program);
  addTenantsCommand(program);
  addTenantCommands(program);
  return program;
};
