import { globSync, readFileSync } from 'node:fs';
import { findExpressions, isLinear } from './regular-expressions.ts';
import { findSecondCallers } from './single-callers.ts';
import { findUnboundedTexts } from './unbounded-texts.ts';

/**
 * What bounds the time of the expressions that are not proved to be linear, and the input of those that `new RegExp`
 * creates, by file.
 */
const bounds: Readonly<Record<string, readonly [count: number, bound: string]>> = {
  'shared/contracts/json.ts': [1, 'reads at most 16 digits from each place'],
  'shared/contracts/notification-fields.ts': [2, 'boundedText: 254 characters'],
  'shared/contracts/trace.ts': [2, 'boundedText: 512 characters'],
  'shared/contracts/notice.ts': [1, 'new RegExp: an event ID, 512 characters'],
  'shared/contracts/body-template.ts': [2, 'new RegExp: the body of a webhook request, 16 KB'],
  'shared/domain/token.ts': [1, 'new RegExp: 53 characters'],
  'bin/local-aws/sqs/requests.ts': [1, 'the name of an attribute: 256 characters'],
  'bin/local/inbox/message-store.ts': [2, 'an email of the local service; new RegExp: a word that the developer types'],
};

const files = globSync('{functions,shared,lib,bin}/**/*.{ts,tsx}').filter(
  (file) => !/node_modules|bin\/local-aws\/test\//.test(file),
);

/**
 * An expression that can be proved takes less than 50 ms on an idle machine. One of those that `bounds` lists takes
 * minutes, so the long time is only for files with more unproved expressions than `bounds` permits.
 */
const [SHORT_TIMEOUT_MS, LONG_TIMEOUT_MS] = [1_000, 60_000];

/** Returns the expressions of a file that are not proved to be linear. */
const unproved = async (file: string, timeoutMs: number): Promise<string[]> => {
  const problems: string[] = [];
  for (const found of findExpressions(readFileSync(file, 'utf8'), file.endsWith('x'))) {
    if ('code' in found) problems.push(found.code);
    else if (!(await isLinear(found.pattern, found.flags, timeoutMs)))
      problems.push(`/${found.pattern}/${found.flags}`);
  }
  return problems;
};

const problems: string[] = [];
for (const file of files) {
  const [count] = bounds[file] ?? [0];
  let found = await unproved(file, SHORT_TIMEOUT_MS);
  if (found.length > count) found = await unproved(file, LONG_TIMEOUT_MS);
  if (found.length < count) problems.push(`${file}: bounds of test/checks/main.ts has more than ${found.length}`);
  if (found.length > count) problems.push(...found.map((expression) => `${file}: ${expression}`));
}
if (problems.length > 0) {
  process.stderr.write(
    `The time of these regular expressions is not proved to be linear, or their text is not fixed. Rewrite them, or state what bounds their input in test/checks/main.ts:\n${problems.join('\n')}\n`,
  );
}

const unbounded = files
  .filter((file) => /^(functions|shared)\//.test(file))
  .flatMap((file) => findUnboundedTexts(readFileSync(file, 'utf8')).map((code) => `${file}: ${code}`));
if (unbounded.length > 0) {
  process.stderr.write(
    `These schemas read texts of any length. Create them with boundedText of shared/contracts/text.ts:\n${unbounded.join('\n')}\n`,
  );
}

const secondCallers = files
  .filter((file) => /^(functions|shared)\//.test(file))
  .flatMap((file) => findSecondCallers(readFileSync(file, 'utf8'), file).map((name) => `${file}: ${name}`));
if (secondCallers.length > 0) {
  process.stderr.write(
    `Emails, SMS, and messages that return or are sent later go through one function each, which these files bypass (test/checks/single-callers.ts):\n${secondCallers.join('\n')}\n`,
  );
}
// The worker of recheck would keep the process.
process.exit(problems.length + unbounded.length + secondCallers.length > 0 ? 1 : 0);
