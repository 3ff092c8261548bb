import { validationError } from '../errors.ts';
import { ExpressionError, Lexer } from './lexer.ts';

const MAX_EXPRESSIONS = 1000;

/**
 * Returns a function that parses an expression, and remembers the latest ones by their text.
 *
 * @param name the parameter, for errors
 * @param read reads the expression; nothing may follow it
 */
export const expressionParser = <Expression>(name: string, read: (lexer: Lexer) => Expression) => {
  const parsed = new Map<string, Expression>();
  return (text: string): Expression => {
    const known = parsed.get(text);
    if (known !== undefined) return known;
    const expression = withName(name, () => {
      const lexer = new Lexer(text);
      const result = read(lexer);
      if (!lexer.isAtEnd) throw lexer.syntaxError();
      return result;
    });
    if (parsed.size >= MAX_EXPRESSIONS) parsed.clear();
    parsed.set(text, expression);
    return expression;
  };
};

/** Runs a check of an expression, and turns its error into that of the parameter. */
export const withName = <Result>(name: string, act: () => Result): Result => {
  try {
    return act();
  } catch (error) {
    throw error instanceof ExpressionError ? validationError(`Invalid ${name}: ${error.message}`) : error;
  }
};
