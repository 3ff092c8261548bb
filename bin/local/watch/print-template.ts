import { Console } from 'node:console';
import { z } from 'zod';

// Prints the template of the CDK app with the settings in the first argument (JSON). It runs in a process of its own,
// because modules that were loaded once cannot be loaded again.
const settings = z.record(z.string(), z.string()).parse(JSON.parse(process.argv[2] ?? ''));
// Standard output is the template only, whatever the sources print.
globalThis.console = new Console(process.stderr);
try {
  // Errors of the modules are reported, too.
  const { synthesize } = await import('../assembly.ts');
  const assembly = synthesize(settings);
  assembly.remove();
  process.stdout.write(JSON.stringify(assembly.template));
} catch (error) {
  process.stderr.write(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
