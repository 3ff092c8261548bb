import { expressionParser } from './expression-cache.ts';
import { ExpressionError, type Lexer, type Path } from './lexer.ts';

/** An operand: a path, the placeholder of a value, or the size of another operand. */
export type OperandSyntax = { path: Path } | { placeholder: string } | { size: OperandSyntax };

const COMPARATORS = ['=', '<>', '<', '<=', '>', '>='] as const;
/** The functions of conditions, with the numbers of their operands. */
const FUNCTIONS = {
  attribute_exists: 1,
  attribute_not_exists: 1,
  attribute_type: 2,
  begins_with: 2,
  contains: 2,
} as const;

/** A comparator, a function, or another operator on operands. */
export type Operator = (typeof COMPARATORS)[number] | keyof typeof FUNCTIONS | 'BETWEEN' | 'IN';

/** A condition as it is written. */
export type ConditionSyntax =
  | { logic: 'AND' | 'OR' | 'NOT'; conditions: readonly ConditionSyntax[] }
  | { operator: Operator; operands: readonly OperandSyntax[] };

const MAX_IN_OPERANDS = 100;

const isFunction = (name: string): name is keyof typeof FUNCTIONS => Object.hasOwn(FUNCTIONS, name);

/** Reads one condition. */
class ConditionReader {
  readonly #lexer: Lexer;
  /** The last condition in parentheses. */
  #parenthesized: ConditionSyntax | undefined;

  constructor(lexer: Lexer) {
    this.#lexer = lexer;
  }

  disjunction(): ConditionSyntax {
    return this.#chain('OR', () => this.#chain('AND', () => this.#negation()));
  }

  #chain(logic: 'AND' | 'OR', read: () => ConditionSyntax): ConditionSyntax {
    let condition = read();
    while (this.#lexer.skips(logic)) condition = { logic, conditions: [condition, read()] };
    return condition;
  }

  #negation(): ConditionSyntax {
    if (this.#lexer.skips('NOT')) return { logic: 'NOT', conditions: [this.#negation()] };
    if (!this.#lexer.skips('(')) return this.#simple();
    const condition = this.disjunction();
    this.#lexer.expect(')');
    if (condition === this.#parenthesized) throw new ExpressionError('The expression has redundant parentheses;');
    this.#parenthesized = condition;
    return condition;
  }

  #simple(): ConditionSyntax {
    const lexer = this.#lexer;
    if (lexer.afterNext === '(' && lexer.next !== 'size') return this.#function();
    const first = this.#operand();
    if (lexer.skips('BETWEEN')) {
      const low = this.#operand();
      lexer.expect('AND');
      return { operator: 'BETWEEN', operands: [first, low, this.#operand()] };
    }
    if (lexer.skips('IN')) {
      lexer.expect('(');
      const others = lexer.list(() => this.#operand());
      lexer.expect(')');
      if (others.length > MAX_IN_OPERANDS) throw incorrectNumber('IN', others.length + 1);
      return { operator: 'IN', operands: [first, ...others] };
    }
    const operator = COMPARATORS.find((comparator) => comparator === lexer.next);
    if (operator === undefined) {
      throw 'size' in first && (lexer.isAtEnd || /^(and|or|\))$/i.test(lexer.next))
        ? misused('size')
        : lexer.syntaxError();
    }
    lexer.take();
    return { operator, operands: [first, this.#operand()] };
  }

  #function(): ConditionSyntax {
    const operator = this.#lexer.take();
    const operands = this.#arguments();
    if (!isFunction(operator)) throw new ExpressionError(`Invalid function name; function: ${operator}`);
    if (operands.length !== FUNCTIONS[operator]) throw incorrectNumber(operator, operands.length);
    return { operator, operands };
  }

  #arguments(): OperandSyntax[] {
    this.#lexer.expect('(');
    const operands = this.#lexer.list(() => this.#operand());
    this.#lexer.expect(')');
    return operands;
  }

  #operand(): OperandSyntax {
    const lexer = this.#lexer;
    if (lexer.next.startsWith(':')) return { placeholder: lexer.take() };
    if (lexer.afterNext !== '(' || !/^\w/.test(lexer.next)) return { path: lexer.path() };
    const name = lexer.take();
    const [of, ...more] = this.#arguments();
    if (name !== 'size')
      throw isFunction(name) ? misused(name) : new ExpressionError(`Invalid function name; function: ${name}`);
    if (!of || more.length > 0) throw incorrectNumber(name, more.length + 1);
    return { size: of };
  }
}

const incorrectNumber = (operator: string, count: number) =>
  new ExpressionError(
    `Incorrect number of operands for operator or function; operator or function: ${operator}, number of operands: ${count}`,
  );

const misused = (name: string) =>
  new ExpressionError(`The function is not allowed to be used this way in an expression; function: ${name}`);

const parser = (name: string) => expressionParser(name, (lexer) => new ConditionReader(lexer).disjunction());

/** The parsers of the parameters that are conditions. */
export const conditionParsers = {
  ConditionExpression: parser('ConditionExpression'),
  FilterExpression: parser('FilterExpression'),
  KeyConditionExpression: parser('KeyConditionExpression'),
};
