// The CDK app (cdk.json).
require('./supported-node.ts');
import('../lib/app.ts')
  .then(({ notificationsApp }) => notificationsApp().synth())
  .catch((error) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  });
