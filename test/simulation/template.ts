import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { synthesize } from '../../bin/local/assembly.ts';
import { sharedAssembly } from '../support/shared-assembly.ts';
import { CONSOLE_URL } from './world/scenario.ts';

/** The endpoints of the operators, which the receivers answer. */
const SETTINGS = {
  deliveryOutcomes: 'true',
  linkScheme: 'http',
  alarmUrl: `${CONSOLE_URL}/{tenant_id}/alarms/{alarm_id}?entity={entity_id}`,
  pagerEndpoint: 'https://pager.test',
  routerEndpoint: 'https://router.test',
  feedEndpoint: 'https://feed.test',
};

/** Synthesizes the template once for all processes of a simulation, and once in a test run. */
export const writeTemplate = (): { file: string; remove: () => void } => {
  const directory = mkdtempSync(join(tmpdir(), 'simulation-'));
  const file = join(directory, 'template.json');
  const assembly = process.env.SHARED_BUILDS === undefined ? synthesize(SETTINGS) : sharedAssembly(SETTINGS);
  writeFileSync(file, JSON.stringify(assembly.template));
  assembly.remove();
  return { file, remove: () => rmSync(directory, { recursive: true, force: true }) };
};
