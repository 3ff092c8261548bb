import { type Command, InvalidArgumentError } from 'commander';
import { z } from 'zod';
import { type LoggedError, loggedErrors, RELEASE } from '../stack-trace/logged-error.ts';
import type { OriginalFrame, SourceMap } from '../stack-trace/source-map.ts';
import { parseStackFrame, type StackFrame } from '../stack-trace/stack-frame.ts';
import { examples } from './arguments.ts';
import type { Deployment } from './deployment.ts';
import { OperationError, UsageError } from './errors.ts';
import { readText } from './event-input.ts';
import { colorize, printResult, sanitize } from './print.ts';
import { connect, printsJson } from './session.ts';
import { findSourceMap } from './source-maps.ts';

/** Adds `stack-trace`: the TypeScript lines of the stack frames in a log. */
export const addStackTraceCommand = (program: Command): void => {
  program
    .command('stack-trace')
    .description('show the TypeScript lines of the stack frames in log lines')
    .argument('[file]', 'a file with log lines or a stack trace, or - for standard input', '-')
    .option('--release <release>', 'the release of frames whose line names none', parseRelease)
    .option('--function <name>', 'the function of these frames, if it has not been deployed since')
    .option('--maps <directory>', 'find the source maps only here, not in cdk.out and the bucket of the stack')
    .addHelpText(
      'after',
      examples('stack-trace line.json', 'stack-trace - < lines.txt', 'stack-trace stack.txt --function send-webhook'),
    )
    .action(trace);
};

type TraceOptions = { release?: string; function?: string; maps?: string };

/** A stack frame: a position in the sources, or the text of a frame that is not in a bundle. */
type TracedFrame = OriginalFrame | { text: string };

type TracedError = Omit<LoggedError, 'frames'> & { function: string | null; frames: TracedFrame[] };

const parseRelease = (text: string): string => {
  if (RELEASE.test(text)) return text;
  throw new InvalidArgumentError('A release is 16 hexadecimal digits, as in the field release of a log line.');
};

const trace = async (file: string, options: TraceOptions, command: Command): Promise<void> => {
  if (options.release !== undefined && options.function !== undefined)
    throw new UsageError('Use either --release or --function.');
  if (file === '-' && process.stdin.isTTY) process.stderr.write('Paste log lines, then press Ctrl-D.\n');
  const errors = withBundleFrames(loggedErrors(await readText(file)));
  if (errors.length === 0) throw new OperationError(`${nameOf(file)} contains no stack frames.`);
  const deployment = memoized(async () => (await connect(command)).deployment);
  const mapOf = memoized((release) => findSourceMap(release, { directory: options.maps, deployment }));
  const assumedRelease = memoized(() => releaseOf(options, deployment));
  const traced: TracedError[] = [];
  for (const error of errors) {
    const hasBundleFrames = error.frames.some(isInBundle);
    const release = error.release ?? (hasBundleFrames ? await assumedRelease() : null);
    traced.push(
      withSources({ ...error, release }, hasBundleFrames && release !== null ? await mapOf(release) : undefined),
    );
  }
  printResult(printsJson(command), { errors: traced }, traced.map(describe).join('\n\n'));
};

const nameOf = (file: string): string => (file === '-' ? 'Standard input' : file);

/** Omits errors of Lambda's runtime around an error of a function, such as `Runtime.UnhandledPromiseRejection`. */
const withBundleFrames = (errors: LoggedError[]): LoggedError[] => {
  const own = errors.filter(({ frames }) => frames.some(isInBundle));
  return own.length > 0 ? own : errors;
};

/** Whether a frame is in the `index.js` of a function. */
const isInBundle = (frame: string): boolean => bundleFrame(frame) !== undefined;

const bundleFrame = (text: string): StackFrame | undefined => {
  const frame = parseStackFrame(text);
  return frame && /^(?!.*(\/var\/runtime|node_modules)\/)(.*\/)?index\.js$/.test(frame.file) ? frame : undefined;
};

/** Returns the release that the options name. @throws OperationError or UsageError if they name none */
const releaseOf = async (options: TraceOptions, deployment: () => Promise<Deployment>): Promise<string> => {
  if (options.release !== undefined) return options.release;
  if (options.function === undefined) {
    throw new UsageError(
      'The stack frames have no release: name it with --release, or name the function with --function.',
    );
  }
  const { name, outputs } = await deployment();
  const releases = z.record(z.string(), z.string()).parse(JSON.parse(outputs.Releases));
  const release = releases[options.function];
  if (release !== undefined) return release;
  throw new OperationError(
    `The outputs of ${name} name no release of ${options.function}, only of ${Object.keys(releases).join(', ')}.`,
  );
};

const withSources = ({ frames, ...error }: LoggedError, map: SourceMap | undefined): TracedError => ({
  ...error,
  function: map?.functionName ?? null,
  frames: frames.map((text) => {
    const frame = bundleFrame(text);
    const original = frame && map?.locate(frame.line, frame.column);
    return original ? { ...original, function: original.function ?? frame.method } : { text };
  }),
});

const describe = ({ event, error, code, message, function: name, release, frames }: TracedError): string => {
  const kind = `${error ?? 'Error'}${code === null ? '' : ` (${code})`}${message === null ? '' : `: ${message}`}`;
  const where = [name && `in ${name}`, release && `release ${release}`].filter(Boolean).join(', ');
  const failing = frames.find(hasCode);
  return [
    colorize('red', sanitize(kind)) + (event === null ? '' : `  ${sanitize(event)}`),
    ...(where === '' ? [] : [sanitize(where)]),
    '',
    ...frames.flatMap((frame) => frameLines(frame, frame === failing)),
  ].join('\n');
};

/** Formats a frame. The first one in the service's own code has its line of code below. */
const frameLines = (frame: TracedFrame, isFailing: boolean): string[] => {
  if ('text' in frame) return [colorize('dim', `  ${sanitize(frame.text.replace(/^at /, ''))}`)];
  const line = sanitize(`  ${positionOf(frame)}  ${frame.function ?? ''}`.trimEnd());
  if (frame.code === null) return [colorize('dim', line)];
  return isFailing ? [colorize('bold', line), `      ${sanitize(frame.code.trim())}`] : [line];
};

const hasCode = (frame: TracedFrame): boolean => 'code' in frame && frame.code !== null;

const positionOf = ({ source, line, column }: OriginalFrame): string => `${source}:${line}:${column}`;

/** Returns a function that calls another one at most once per key. */
const memoized = <Result>(call: (key: string) => Result): ((key?: string) => Result) => {
  const results = new Map<string, Result>();
  return (key = '') => {
    const result = results.get(key) ?? call(key);
    results.set(key, result);
    return result;
  };
};
