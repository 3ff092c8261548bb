/** The syntax tree of a metric math expression. */
export type Expression =
  | { kind: 'number'; value: number }
  | { kind: 'text'; value: string }
  | { kind: 'reference'; id: string }
  | { kind: 'array'; items: Expression[] }
  | { kind: 'call'; name: string; args: Expression[] }
  | { kind: 'operation'; operator: Operator; left: Expression; right: Expression };

/** The operators of metric math that the alarms use. */
export type Operator = '+' | '-' | '*' | '/' | '>=' | 'AND';

/** Lowest precedence first. */
const PRECEDENCE: readonly (readonly Operator[])[] = [['AND'], ['>='], ['+', '-'], ['*', '/']];

const TOKEN = /\s*(?:(\d+(?:\.\d+)?)|([A-Za-z]\w*)|("[^"]*")|(>=|[-+*/()[\],]))\s*/y;

/**
 * Parses a metric math expression.
 *
 * @throws SyntaxError if it is invalid
 */
export const parseExpression = (text: string): Expression => {
  const tokens = tokensOf(text);
  let position = 0;
  const fail = (): never => {
    throw new SyntaxError(`Metric math: unexpected ${tokens[position] ?? 'end'} in ${text}`);
  };
  const expectToken = (expected: string): void => {
    if (tokens[position] !== expected) fail();
    position += 1;
  };
  const readOperator = (operators: readonly Operator[]): Operator | undefined => {
    const found = operators.find((operator) => operator === tokens[position]);
    if (found) position += 1;
    return found;
  };
  const list = (end: string): Expression[] => {
    const items: Expression[] = [];
    while (tokens[position] !== end) {
      if (items.length > 0) expectToken(',');
      items.push(operation(0));
    }
    expectToken(end);
    return items;
  };
  const primary = (): Expression => {
    const next = tokens[position] ?? fail();
    position += 1;
    if (/^\d/.test(next)) return { kind: 'number', value: Number(next) };
    if (next.startsWith('"')) return { kind: 'text', value: next.slice(1, -1) };
    if (next === '[') return { kind: 'array', items: list(']') };
    if (next === '(') {
      const inner = operation(0);
      expectToken(')');
      return inner;
    }
    if (!/^[A-Za-z]/.test(next) || next === 'AND') {
      position -= 1;
      return fail();
    }
    if (tokens[position] !== '(') return { kind: 'reference', id: next };
    position += 1;
    return { kind: 'call', name: next, args: list(')') };
  };
  const operation = (level: number): Expression => {
    const operators = PRECEDENCE[level];
    if (!operators) return primary();
    let left = operation(level + 1);
    for (let operator = readOperator(operators); operator; operator = readOperator(operators)) {
      left = { kind: 'operation', operator, left, right: operation(level + 1) };
    }
    return left;
  };
  const expression = operation(0);
  if (position < tokens.length) fail();
  return expression;
};

const tokensOf = (text: string): string[] => {
  const tokens: string[] = [];
  TOKEN.lastIndex = 0;
  for (let end = 0; end < text.length; end = TOKEN.lastIndex) {
    const match = TOKEN.exec(text);
    if (!match) throw new SyntaxError(`Metric math: unexpected character at ${end} in ${text}`);
    tokens.push(match[0].trim());
  }
  return tokens;
};
