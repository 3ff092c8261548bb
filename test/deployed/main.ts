/** `npm run test:deployed -- --outputs FILE`: runs the end-to-end tests against a deployed stack. */
import { Command } from 'commander';
import { startVitest } from 'vitest/node';

const { outputs } = new Command('npm run test:deployed --')
  .description('Runs the end-to-end tests against a deployed stack, with the AWS credentials of the environment.')
  .requiredOption('--outputs <file>', 'what `cdk deploy --outputs-file` has written')
  .parse()
  .opts<{ outputs: string }>();

process.env.STACK_OUTPUTS = outputs;
const vitest = await startVitest('test', [], { run: true, config: 'test/deployed/vitest.config.ts' });
await vitest.close();
