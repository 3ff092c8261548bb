import { globSync, readFileSync } from 'node:fs';
import { findExpressions, isLinear } from './regular-expressions.ts';

/** What bounds the input of the expressions that are not linear, and of those that `new RegExp` creates, by file. */
const bounds: Readonly<Record<string, readonly [count: number, bound: string]>> = {
  'shared/contracts/notification-types.ts': [1, 'boundedText: 254 characters'],
  'shared/contracts/trace.ts': [1, 'boundedText: 512 characters'],
  'shared/contracts/notice.ts': [1, 'new RegExp: an event ID, 512 characters'],
  'shared/contracts/body-template.ts': [2, 'new RegExp: the body of a webhook request'],
  'shared/domain/token.ts': [1, 'new RegExp: 53 characters'],
  'local-aws/intrinsics.ts': [1, 'the template of the repository'],
  'local-aws/dynamodb/item-size.ts': [2, 'a number: dynalite accepts 38 digits'],
  'local-aws/dynamodb/query.ts': [1, 'an expression: 4 KB'],
  'bin/stack-trace/logged-error.ts': [1, 'a log line of the operator: 256 KB'],
  'bin/stack-trace/stack-frame.ts': [1, 'a line of a stack trace'],
  'bin/ops/caller-identity.ts': [3, 'a response of STS'],
  'bin/local/watch/function-builder.ts': [1, 'a bundle of the repository'],
  'bin/local/inbox/message-summary.ts': [1, 'an email of the local service'],
  'bin/local/inbox/message-filter.ts': [1, 'new RegExp: a word that the developer types'],
};

const files = globSync('{functions,shared,lib,bin,local-aws}/**/*.{ts,tsx}').filter(
  (file) => !/node_modules|local-aws\/test\//.test(file),
);
const problems: string[] = [];
for (const file of files) {
  let exempt = bounds[file]?.[0] ?? 0;
  for (const found of findExpressions(readFileSync(file, 'utf8'), file.endsWith('x'))) {
    if ('pattern' in found && (await isLinear(found.pattern, found.flags))) continue;
    if (--exempt < 0) problems.push(`${file}: ${'code' in found ? found.code : `/${found.pattern}/${found.flags}`}`);
  }
}
if (problems.length > 0) {
  process.stderr.write(
    `These regular expressions are not linear, or their text is not fixed. Rewrite them, or state what bounds their input in test/checks/main.ts:\n${problems.join('\n')}\n`,
  );
}
// The worker of recheck would keep the process.
process.exit(problems.length > 0 ? 1 : 0);
