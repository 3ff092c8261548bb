import { validationError } from '../errors.ts';
import { isReserved } from './reserved-words.ts';

/** Why an expression is invalid. */
export class ExpressionError extends Error {
  override name = 'ExpressionError';
}

/** The elements of a document path: the name of an attribute or its placeholder (`#name`), or an index of a list. */
export type Path = readonly (string | number)[];

/** A part of an expression: a path, the placeholder of a value, or an operator or function with its operands. */
export type Node = { path: Path } | { placeholder: string } | { operator: string; operands: readonly Node[] };

const SECTIONS = ['SET', 'REMOVE', 'ADD', 'DELETE'];
const UPDATE_FUNCTIONS = /^(?:if_not_exists|list_append)$/;

/** Reads the tokens of an expression from left to right. */
class Parser {
  readonly #tokens: readonly string[];
  #position = 0;
  /** The last condition in parentheses. */
  #parenthesized: Node | undefined;

  constructor(text: string) {
    this.#tokens = text.match(/[#:]?\w+|<=|>=|<>|\S/g) ?? [];
    if (this.#tokens.length === 0) throw new ExpressionError('The expression can not be empty;');
  }

  get #next(): string {
    return this.#tokens[this.#position] ?? '';
  }

  get #isCall(): boolean {
    return /^\w/.test(this.#next) && this.#tokens[this.#position + 1] === '(';
  }

  get isAtEnd(): boolean {
    return this.#position >= this.#tokens.length;
  }

  /** Reads a keyword or punctuation if it is the next token. */
  #skips(token: string): boolean {
    if (this.#next.toUpperCase() !== token) return false;
    this.#position++;
    return true;
  }

  #expect(token: string): void {
    if (!this.#skips(token)) throw this.syntaxError();
  }

  #take(pattern: RegExp): string {
    const token = this.#next;
    if (!pattern.test(token)) throw this.syntaxError();
    this.#position++;
    return token;
  }

  list(read: () => Node): Node[] {
    const nodes = [read()];
    while (this.#skips(',')) nodes.push(read());
    return nodes;
  }

  path(): { path: Path } {
    const path: (string | number)[] = [this.#name()];
    for (;;) {
      if (this.#skips('.')) path.push(this.#name());
      else if (this.#skips('[')) {
        path.push(Number(this.#take(/^\d{1,9}$/)));
        this.#expect(']');
      } else return { path };
    }
  }

  #name(): string {
    const name = this.#take(/^(?:#\w+|[A-Za-z]\w*)$/);
    if (isReserved(name)) throw new ExpressionError(`Attribute name is a reserved keyword; reserved keyword: ${name}`);
    return name;
  }

  #operand(): Node {
    if (this.#next.startsWith(':')) return { placeholder: this.#take(/^:\w+$/) };
    if (this.#isCall && UPDATE_FUNCTIONS.test(this.#next)) throw this.#misused('a condition expression');
    if (!this.#skips('(')) return this.#isCall ? this.#call() : this.path();

    const operand = this.#operand();
    this.#expect(')');
    return operand;
  }

  /** Whether a comparator follows the parenthesis that closes the next one. */
  get #isOperandInParentheses(): boolean {
    let [end, depth] = [this.#position, 0];
    do depth += { '(': 1, ')': -1 }[this.#tokens[end++] ?? ')'] ?? 0;
    while (depth > 0);
    return /^(?:=|<>|[<>]=?|between|in)$/i.test(this.#tokens[end] ?? '');
  }

  #call(read = () => this.#operand()): Node {
    const operator = this.#take(/^\w+$/);
    this.#expect('(');
    const operands = this.list(read);
    this.#expect(')');
    return { operator, operands };
  }

  condition(): Node {
    return this.#chain('OR', () => this.#chain('AND', () => this.#negation()));
  }

  #chain(operator: 'AND' | 'OR', read: () => Node): Node {
    let node = read();
    while (this.#skips(operator)) node = { operator, operands: [node, read()] };
    return node;
  }

  #negation(): Node {
    if (this.#skips('NOT')) return { operator: 'NOT', operands: [this.#negation()] };
    if (this.#next !== '(' || this.#isOperandInParentheses) return this.#comparison();
    this.#position++;
    const node = this.condition();
    this.#expect(')');
    if (node === this.#parenthesized) throw new ExpressionError('The expression has redundant parentheses;');
    this.#parenthesized = node;
    return node;
  }

  #comparison(): Node {
    const first = this.#operand();
    if (this.#skips('BETWEEN')) {
      const low = this.#operand();
      this.#expect('AND');
      return { operator: 'BETWEEN', operands: [first, low, this.#operand()] };
    }
    if (this.#next.toUpperCase() === 'IN') {
      const { operands } = { operands: [], ...this.#call() };
      return { operator: 'IN', operands: [first, ...operands] };
    }
    if (/^(?:=|<>|[<>]=?)$/.test(this.#next)) return { operator: this.#take(/./), operands: [first, this.#operand()] };
    if (!('operator' in first)) throw this.syntaxError();
    return first;
  }

  update(): Node[] {
    const clauses: Node[] = [];
    while (!this.isAtEnd) {
      const operator = SECTIONS.find((section) => this.#skips(section));
      if (operator === undefined) throw this.syntaxError();
      if (clauses.some((clause) => 'operator' in clause && clause.operator === operator)) {
        throw new ExpressionError(`The "${operator}" section can only be used once in an update expression;`);
      }
      clauses.push(...this.list(() => this.#clause(operator)));
    }
    return clauses;
  }

  #clause(operator: string): Node {
    const path = this.path();
    if (operator === 'REMOVE') return { operator, operands: [path] };
    if (operator === 'SET') this.#expect('=');
    else if (!this.#next.startsWith(':')) throw this.syntaxError();
    return { operator, operands: [path, this.#assigned()] };
  }

  #assigned(): Node {
    const first = this.#updateOperand();
    for (const operator of ['+', '-']) {
      if (this.#skips(operator)) return { operator, operands: [first, this.#updateOperand()] };
    }
    return first;
  }

  #updateOperand(): Node {
    if (this.#isCall && !UPDATE_FUNCTIONS.test(this.#next)) throw this.#misused('an update expression');
    if (!this.#skips('(')) return this.#isCall ? this.#call(() => this.#updateOperand()) : this.#operand();

    const node = this.#assigned();
    this.#expect(')');
    return node;
  }

  #misused(where: string): ExpressionError {
    return new ExpressionError(`The function is not allowed in ${where}; function: ${this.#next}`);
  }

  syntaxError(): ExpressionError {
    const near = this.#tokens.slice(Math.max(0, this.#position - 1), this.#position + 2).join(' ');
    return new ExpressionError(`Syntax error; token: "${this.isAtEnd ? '<EOF>' : this.#next}", near: "${near}"`);
  }
}

const condition = (parser: Parser): Node[] => [parser.condition()];
const GRAMMARS = {
  ConditionExpression: condition,
  FilterExpression: condition,
  KeyConditionExpression: condition,
  ProjectionExpression: (parser: Parser) => parser.list(() => parser.path()),
  UpdateExpression: (parser: Parser) => parser.update(),
};

/** The name of a parameter that is an expression. */
export type ExpressionName = keyof typeof GRAMMARS;

const MAX_EXPRESSIONS = 1000;
const parsed = new Map<string, readonly Node[]>();

/**
 * Parses an expression, and remembers it: one condition, or the paths or clauses of a list.
 *
 * @throws ExpressionError if it is invalid
 */
export const parseExpression = (name: ExpressionName, text: string): readonly Node[] => {
  const id = `${name} ${text}`;
  const known = parsed.get(id);
  if (known) return known;
  const parser = new Parser(text);
  const nodes = GRAMMARS[name](parser);
  if (!parser.isAtEnd) throw parser.syntaxError();
  if (parsed.size >= MAX_EXPRESSIONS) parsed.clear();
  parsed.set(id, nodes);
  return nodes;
};

/** Turns the error of an expression into that of its parameter. */
export const withName = <Result>(name: ExpressionName, act: () => Result): Result => {
  try {
    return act();
  } catch (error) {
    throw error instanceof ExpressionError ? validationError(`Invalid ${name}: ${error.message}`) : error;
  }
};
