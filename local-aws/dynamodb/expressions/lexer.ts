import { isReserved } from './reserved-words.ts';

/** Why an expression is invalid. */
export class ExpressionError extends Error {
  override name = 'ExpressionError';
}

/** The elements of a document path: the name of an attribute or its placeholder (`#name`), or an index of a list. */
export type Path = readonly (string | number)[];

const TOKEN = /[#:]?\w+|<=|>=|<>|\S/g;
const WORD = /^[A-Za-z_]\w*$/;

/** The tokens of an expression, read from left to right. */
export class Lexer {
  readonly #tokens: readonly string[];
  #position = 0;

  constructor(text: string) {
    this.#tokens = text.match(TOKEN) ?? [];
    if (this.#tokens.length === 0) throw new ExpressionError('The expression can not be empty;');
  }

  get isAtEnd(): boolean {
    return this.#position >= this.#tokens.length;
  }

  /** The next token, or an empty text at the end. */
  get next(): string {
    return this.#tokens[this.#position] ?? '';
  }

  /** The token after the next one. */
  get afterNext(): string {
    return this.#tokens[this.#position + 1] ?? '';
  }

  /** Reads a token. */
  take(): string {
    if (this.isAtEnd) throw this.syntaxError();
    return this.#tokens[this.#position++] ?? '';
  }

  /** Reads a keyword or punctuation if it is the next token. */
  skips(token: string): boolean {
    if (this.next.toUpperCase() !== token) return false;
    this.#position++;
    return true;
  }

  expect(token: string): void {
    if (!this.skips(token)) throw this.syntaxError();
  }

  /** Reads what is separated by commas. */
  list<Element>(read: () => Element): Element[] {
    const elements = [read()];
    while (this.skips(',')) elements.push(read());
    return elements;
  }

  /** Reads a document path. */
  path(): Path {
    const path: (string | number)[] = [this.#name()];
    for (;;) {
      if (this.skips('.')) path.push(this.#name());
      else if (this.skips('[')) {
        if (!/^\d{1,9}$/.test(this.next)) throw this.syntaxError();
        path.push(Number(this.take()));
        this.expect(']');
      } else return path;
    }
  }

  #name(): string {
    const { next } = this;
    if (!next.startsWith('#') && !WORD.test(next)) throw this.syntaxError();
    if (next === '#') throw this.syntaxError();
    if (isReserved(next)) throw new ExpressionError(`Attribute name is a reserved keyword; reserved keyword: ${next}`);
    return this.take();
  }

  syntaxError(): ExpressionError {
    const near = this.#tokens.slice(Math.max(0, this.#position - 1), this.#position + 2).join(' ');
    return new ExpressionError(`Syntax error; token: "${this.isAtEnd ? '<EOF>' : this.next}", near: "${near}"`);
  }
}
