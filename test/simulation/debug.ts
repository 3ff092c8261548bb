// biome-ignore-all lint: scratch, not committed to main
import './engine/replace-globals.ts';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { readTemplate } from 'local-aws/template.ts';
import { replaceSdkTransport } from './engine/sdk-transport.ts';
import { buildService } from './engine/service-code.ts';
import { violationsOf } from './rules/rules.ts';
import { runScenario } from './world/run.ts';
import { scenarioOf } from './world/scenario.ts';

Object.assign(process.env, {
  AWS_REGION: 'us-east-1',
  AWS_ACCESS_KEY_ID: 'simulated',
  AWS_SECRET_ACCESS_KEY: 'simulated',
});
replaceSdkTransport();
const file = '/tmp/sim-template.json';
if (!existsSync(file)) {
  const { synthesize } = await import('../../bin/local/assembly.ts');
  const assembly = synthesize({
    linkScheme: 'http',
    pagerEndpoint: 'https://pager.test',
    routerEndpoint: 'https://router.test',
    feedEndpoint: 'https://feed.test',
  });
  writeFileSync(file, JSON.stringify(assembly.template));
  assembly.remove();
}
const plan = readTemplate(JSON.parse(readFileSync(file, 'utf8')), {
  endpointUrl: 'http://aws.test',
  apiUrl: 'http://api.test',
  bundle: () => '',
});
const code = await buildService();
for (const seed of process.argv.slice(2).map(Number)) {
  const lines: string[] = [];
  const t = performance.now();
  const cpu = process.cpuUsage();
  try {
    const o = await runScenario({
      scenario: scenarioOf(seed),
      code,
      plan,
      trace: (line) => {
        lines.push(line);
      },
    });
    for (const text of violationsOf(o).slice(0, 12)) console.log('   ', text);
    const { user, system } = process.cpuUsage(cpu);
    console.log(
      seed,
      `${(performance.now() - t).toFixed(0)} ms, cpu ${((user + system) / 1000).toFixed(0)}`,
      `invocations ${o.invocations} arrivals ${o.arrivals.length} refusals ${o.refusals.length} kills ${o.kills.length} faults ${o.faults.length} history ${o.history.length} left ${o.left} ended ${(o.endedMs / 3600000).toFixed(1)} h lines ${lines.length}`,
    );
  } catch (error) {
    console.log(seed, error);
  }
  writeFileSync(`/tmp/sim-trace-${seed}.txt`, lines.join('\n'));
}
