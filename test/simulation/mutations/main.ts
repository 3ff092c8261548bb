import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { synthesize } from '../../../bin/local/assembly.ts';
import { findMutations, type MutationResult } from './find-mutations.ts';
import { mutations } from './mutations.ts';

/*
 * Looks for all mutations, or for those whose names contain a text: `main.ts [TEXT]`. Exits with 1 if one is not found.
 */

const SECONDS = 60;
const PROCESSES = 2;

const report = ({ name, seed, violation, seeds, seconds }: MutationResult): void => {
  const took = `${seeds} ${seeds === 1 ? 'seed' : 'seeds'}, ${seconds.toFixed(1)} s`;
  process.stdout.write(
    seed === undefined ? `NOT FOUND  ${name} (${took})\n` : `${seed}  ${name} (${took})\n    ${violation}\n`,
  );
};

const [text = ''] = process.argv.slice(2);
const directory = mkdtempSync(join(tmpdir(), 'mutations-'));
const assembly = synthesize({
  linkScheme: 'http',
  pagerEndpoint: 'https://pager.test',
  routerEndpoint: 'https://router.test',
  feedEndpoint: 'https://feed.test',
});
const template = join(directory, 'template.json');
writeFileSync(template, JSON.stringify(assembly.template));
assembly.remove();
const results = await findMutations(
  mutations.filter(({ name }) => name.includes(text)),
  { template, seconds: SECONDS, processes: PROCESSES, onResult: report },
);
rmSync(directory, { recursive: true });
const missed = results.filter(({ seed }) => seed === undefined);
process.stdout.write(`${results.length - missed.length} of ${results.length} mutations are found.\n`);
process.exitCode = missed.length > 0 ? 1 : 0;
