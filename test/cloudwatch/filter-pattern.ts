/** A filter pattern for JSON log lines: conditions that must all hold. */
export type FilterPattern = readonly Condition[];

/** With `isPrefix`, the value is the start of the field. */
type Condition = { path: readonly string[]; operator: '=' | '!='; value: string; isPrefix: boolean };

/** `{ $.a.b = "text" }`, or several conditions in parentheses, such as `{ ($.a = "x") && ($.b != "y") }`. */
const PATTERN = /^\{\s*(?<body>.*\S)\s*\}$/;
const CONDITION = /^(?<path>\$(?:\.\w+)+)\s*(?<operator>=|!=)\s*"(?<value>[^"*%\\]*)(?<wildcard>\*?)"$/;

/**
 * Parses a filter pattern for JSON log lines. Of the syntax of CloudWatch Logs, it supports comparisons of fields with
 * strings, joined by `&&`, and a wildcard at the end of a string:
 * https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/FilterAndPatternSyntax.html
 *
 * @throws SyntaxError for any other pattern
 */
export const parseFilterPattern = (pattern: string): FilterPattern => {
  const parts = PATTERN.exec(pattern)?.groups?.body?.split(/\s*&&\s*/) ?? [];
  if (parts.length === 0) throw new SyntaxError(`The filter pattern ${pattern} is not supported.`);
  return parts.map((part) => {
    const inner = /^\((?<inner>[^()]*)\)$/.exec(part)?.groups?.inner?.trim() ?? part;
    const { path, operator, value, wildcard } = CONDITION.exec(inner)?.groups ?? {};
    if (path === undefined || value === undefined || (operator !== '=' && operator !== '!=')) {
      throw new SyntaxError(`The filter pattern ${pattern} is not supported: ${part}`);
    }
    return { path: path.split('.').slice(1), operator, value, isPrefix: wildcard === '*' };
  });
};

/**
 * Returns whether a log line matches a pattern. A field that is missing matches nothing: AWS does not document what
 * `!=` does then.
 */
export const matchesPattern = (pattern: FilterPattern, line: unknown): boolean =>
  pattern.every(({ path, operator, value, isPrefix }) => {
    const found = path.reduce<unknown>(property, line);
    if (typeof found !== 'string') return false;
    return (isPrefix ? found.startsWith(value) : found === value) === (operator === '=');
  });

const property = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? Object.entries(value).find(([key]) => key === name)?.[1] : undefined;
