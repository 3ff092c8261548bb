import { fileURLToPath } from 'node:url';
import { Argument, type Command } from 'commander';
import { examples } from './arguments.ts';

/** Adds `completion`: scripts that complete commands and options. */
export const addCompletionCommand = (program: Command): void => {
  program
    .command('completion')
    .description('print a script for a shell: the command `ops`, with completion of commands, options and their values')
    .addArgument(new Argument('<shell>', 'the shell').choices(['bash', 'zsh']))
    .addHelpText('after', `${examples('completion bash > ~/.ops-completion')}\n  . ~/.ops-completion && ops status`)
    .action((shell: 'bash' | 'zsh') => void process.stdout.write(completionScript(program, shell)));
};

/** What can follow some words of a command line. */
type Completion = { words: string; candidates: readonly string[] };

const completionsOf = (program: Command, command = program, parents = ''): Completion[] => {
  const options = [...new Set([...command.options, ...program.options])];
  const subcommands = command.commands.map((child) => child.name());
  const values = command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices);
  const names = options.flatMap(({ long }) => long ?? []);
  return [
    { words: parents, candidates: [...subcommands, ...values, ...names, '--help'] },
    ...options.flatMap(({ long, argChoices }) =>
      long && argChoices ? [{ words: `${parents} ${long}`, candidates: argChoices }] : [],
    ),
    ...command.commands.flatMap((child) => completionsOf(program, child, `${parents} ${child.name()}`)),
  ];
};

/** Returns the script. zsh runs that of bash, in which `path` and `words` would be its own variables. */
const completionScript = (program: Command, shell: 'bash' | 'zsh'): string => {
  const completions = completionsOf(program);
  const known = completions.filter(({ words }) => words !== '').map(({ words }) => `'${words}'`);
  const cases = completions.map(({ words, candidates }) => `    '${words}') candidates='${candidates.join(' ')}' ;;`);
  const file = fileURLToPath(new URL('../ops.ts', import.meta.url)).replaceAll("'", `'\\''`);
  return `${shell === 'zsh' ? 'autoload -U +X compinit bashcompinit && compinit && bashcompinit\n' : ''}ops() { node '${file}' "$@"; }
_ops() {
  local known= key= word= current= candidates= index=0
  for word in "\${COMP_WORDS[@]}"; do
    [ "$index" -eq "$COMP_CWORD" ] && current="$word" && break
    [ "$index" -gt 0 ] && key="$known $word" && case "$key" in
      ${known.join('|')}) case "$word" in -*) ;; *) known="$key" ;; esac ;;
      *) key="$known" ;;
    esac
    index=$((index + 1))
  done
  case "$key" in
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$candidates" -- "$current"))
}
complete -o default -F _ops ops
`;
};
