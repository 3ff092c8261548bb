// `npx cdk deploy --app 'node bin/deployment-access.ts'`: who may deploy a stage
// (docs/operations.md#deploy-from-github).
require('./supported-node.ts');
import('../lib/deployment-access.ts')
  .then(({ deploymentAccessApp }) => deploymentAccessApp().synth())
  .catch((error) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  });
