/** A filter pattern for JSON log lines: conditions that must all hold. */
export type FilterPattern = readonly Condition[];

type Condition = { path: readonly string[]; operator: '=' | '!='; value: string };

/** `{ $.a.b = "text" }`, or several conditions in parentheses, such as `{ ($.a = "x") && ($.b != "y") }`. */
const PATTERN = /^\{\s*(?<body>.*\S)\s*\}$/;
const CONDITION = /^(?<path>\$(?:\.\w+)+)\s*(?<operator>=|!=)\s*"(?<value>[^"*%\\]*)"$/;

/**
 * Parses a filter pattern for JSON log lines. Of the syntax of CloudWatch Logs, it supports comparisons of fields with
 * strings without wildcards, joined by `&&`:
 * https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/FilterAndPatternSyntax.html
 *
 * @throws SyntaxError for any other pattern
 */
export const parseFilterPattern = (pattern: string): FilterPattern => {
  const parts = PATTERN.exec(pattern)?.groups?.body?.split(/\s*&&\s*/) ?? [];
  if (parts.length === 0) throw new SyntaxError(`The filter pattern ${pattern} is not supported.`);
  return parts.map((part) => {
    const inner = /^\((?<inner>[^()]*)\)$/.exec(part)?.groups?.inner?.trim() ?? part;
    const { path, operator, value } = CONDITION.exec(inner)?.groups ?? {};
    if (path === undefined || value === undefined || (operator !== '=' && operator !== '!=')) {
      throw new SyntaxError(`The filter pattern ${pattern} is not supported: ${part}`);
    }
    return { path: path.split('.').slice(1), operator, value };
  });
};

/**
 * Returns whether a log line matches a pattern. A field that is missing matches nothing: AWS does not document what
 * `!=` does then.
 */
export const matchesPattern = (pattern: FilterPattern, line: unknown): boolean =>
  pattern.every(({ path, operator, value }) => {
    const found = path.reduce<unknown>(property, line);
    return typeof found === 'string' && (found === value) === (operator === '=');
  });

const property = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? Object.entries(value).find(([key]) => key === name)?.[1] : undefined;
