// The CDK app (cdk.json).
require('./supported-node.ts');
Promise.all([import('../lib/app.ts'), import('../lib/app.ts')])
  .then(([{ notificationsApp }, { currentCommit }]) => notificationsApp({ commit: currentCommit() }).synth())
  .catch((error) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  });
