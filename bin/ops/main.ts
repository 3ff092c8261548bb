/** `npm run -s ops -- …`: the command line for operators. */
import { CommanderError } from 'commander';
import { errorSummary, UsageError } from './errors.ts';
import { sanitize } from './print.ts';
import { createProgram } from './program.ts';

const exitCodeOf = (error: unknown): 0 | 1 | 2 => {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  return error instanceof UsageError ? 2 : 1;
};

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // The reader of a pipe may close it early (`… | head`).
  if (error.code === 'EPIPE') process.exit();
  process.stderr.write(`The output cannot be written: ${errorSummary(error)}\n`);
  process.exit(1);
});

try {
  await createProgram().parseAsync();
} catch (error) {
  process.exitCode = exitCodeOf(error);
  // Commander prints its own errors.
  if (!(error instanceof CommanderError)) process.stderr.write(`${sanitize(errorSummary(error))}\n`);
}
