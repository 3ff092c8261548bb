/** `npx cdk deploy --app 'node bin/deployment-access.ts'`: who may deploy a stage (OPERATIONS.md#deploy-from-github). */
import { deploymentAccessApp } from '../lib/deployment-access.ts';

try {
  deploymentAccessApp().synth();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
