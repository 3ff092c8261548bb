import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { createProgram } from '../../bin/ops/program.ts';
import { useStarted } from '../support/use-started.ts';
import { commandLine, commandNames, useDirectory } from './command-line.ts';

const ops = commandLine(useDirectory());
const script = useStarted(async () => ({ text: (await ops('completion bash')).out }));

/** Returns what bash offers at the end of each line, in one process. */
const completed = (lines: readonly string[]): string[][] => {
  const queries = lines.map((line) => {
    const words = `ops ${line}`.split(' ');
    return `COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}; _ops; echo "\${COMPREPLY[@]}"`;
  });
  const input = [script.text, ...queries].join('\n');
  return execFileSync('bash', { input, encoding: 'utf8' })
    .trimEnd()
    .split('\n')
    .map((words) => words.split(' '));
};

describe('the completion of bash', () => {
  it('offers every command and all of its options', () => {
    const names = commandNames(createProgram());
    for (const [index, [last, ...others]] of completed(names).entries()) {
      expect([last, others]).toEqual([names[index]?.split(' ').at(-1), expect.any(Array)]);
    }
    for (const [index, options] of completed(names.map((name) => `${name} acme --`)).entries()) {
      expect(options, names[index]).toEqual(expect.arrayContaining(['--json', '--stack', '--local', '--help']));
    }
    expect(completed(['token create --tenant acme --d'])).toEqual([['--days']]);
  });

  it('offers the values of arguments and options', () => {
    expect(completed(['token create --role ', 'account shadow acme o', 'deliveries --status fa'])).toEqual([
      ['admin', 'creator', 'observer'],
      ['on', 'off'],
      ['failed'],
    ]);
  });

  it('offers no values after the next word', () => {
    expect(completed(['token create --role admin a'])).toEqual([['']]);
  });
});
