/** `npm run test:deployed -- --outputs FILE`: runs the end-to-end tests against a deployed stack. */
import { Command } from 'commander';
import { startVitest } from 'vitest/node';

const { outputs } = new Command('npm run test:deployed --')
  .description('Runs the end-to-end tests against a deployed stack, with the AWS credentials in the environment.')
  .requiredOption('--outputs <file>', 'the file that `cdk deploy --outputs-file` wrote')
  .parse()
  .opts<{ outputs: string }>();

process.env.STACK_OUTPUTS = outputs;
const vitest = await startVitest('test', [], { run: true, config: 'test/deployed/vitest.config.ts' });
await vitest.close();
