import { validationError } from '../errors.ts';
import { isReserved } from './reserved-words.ts';

/** Why an expression is invalid. */
export class ExpressionError extends Error {
  override name = 'ExpressionError';
}

/** The name of an attribute or its placeholder (`#name`), and the index of an element of a list. */
export type Path = { name: string; index?: number };

/** A part of an expression: a path, the placeholder of a value, or an operator or function with its operands. */
export type Node = { path: Path } | { placeholder: string } | { operator: string; operands: readonly Node[] };

const SECTIONS = ['SET', 'REMOVE', 'ADD', 'DELETE'];
const CONDITION_FUNCTIONS = /^(?:attribute_exists|attribute_not_exists|begins_with|contains)$/;

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

  attribute(): { path: Path } {
    const name = this.#take(/^(?:#\w+|[A-Za-z]\w*)$/);
    if (isReserved(name)) throw new ExpressionError(`Attribute name is a reserved keyword; reserved keyword: ${name}`);
    return { path: { name } };
  }

  #path(): Node {
    const { path } = this.attribute();
    if (!this.#skips('[')) return { path };
    const index = Number(this.#take(/^\d{1,9}$/));
    this.#expect(']');
    return { path: { ...path, index } };
  }

  /** Reads a value, a path, or a call of the only permitted function. */
  #operand(permitted: 'size' | 'if_not_exists'): Node {
    if (this.#next.startsWith(':')) return { placeholder: this.#take(/^:\w+$/) };
    if (!this.#isCall) return this.#path();
    if (this.#next !== permitted) throw new ExpressionError(`The function is not allowed; function: ${this.#next}`);
    return this.#call(() => this.#operand(permitted));
  }

  #call(read: () => Node): Node {
    const operator = this.#take(/^\w+$/);
    this.#expect('(');
    const operands = this.list(read);
    this.#expect(')');
    return { operator, operands };
  }

  condition(): Node {
    return this.#chain('OR', () => this.#chain('AND', () => this.#term()));
  }

  #chain(operator: 'AND' | 'OR', read: () => Node): Node {
    let node = read();
    while (this.#skips(operator)) node = { operator, operands: [node, read()] };
    return node;
  }

  #term(): Node {
    if (!this.#skips('(')) return this.#comparison();
    const node = this.condition();
    this.#expect(')');
    if (node === this.#parenthesized) throw new ExpressionError('The expression has redundant parentheses;');
    this.#parenthesized = node;
    return node;
  }

  #comparison(): Node {
    const operand = () => this.#operand('size');
    if (this.#isCall && CONDITION_FUNCTIONS.test(this.#next)) return this.#call(operand);
    const first = operand();
    if (this.#skips('BETWEEN')) {
      const low = operand();
      this.#expect('AND');
      return { operator: 'BETWEEN', operands: [first, low, operand()] };
    }
    return { operator: this.#take(/^(?:=|<>|[<>]=?)$/), operands: [first, operand()] };
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
    const attribute = this.attribute();
    if (operator === 'REMOVE') return { operator, operands: [attribute] };
    if (operator === 'SET') this.#expect('=');
    else if (!this.#next.startsWith(':')) throw this.syntaxError();
    return { operator, operands: [attribute, this.#operand('if_not_exists')] };
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
  ProjectionExpression: (parser: Parser) => parser.list(() => parser.attribute()),
  UpdateExpression: (parser: Parser) => parser.update(),
};

export type ExpressionName = keyof typeof GRAMMARS;

const MAX_EXPRESSIONS = 1000;
const parsed = new Map<string, readonly Node[]>();

/**
 * Parses an expression, and remembers it: one condition, or the attributes or clauses of a list.
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
