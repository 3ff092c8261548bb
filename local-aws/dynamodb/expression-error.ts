import { z } from 'zod';

/** A part of an expression as dynalite parses it: an operator or function, a path (an array), or a value. */
const operation = z.object({ type: z.string(), args: z.array(z.unknown()) });

const ORDERING = ['<', '<=', '>', '>=', 'between'];
const ORDERED_TYPES = ['S', 'N', 'B'];

const parsedExpression = z.object({ expression: z.unknown() });

/** Returns a message if an expression of a request, parsed by dynalite, is invalid although dynalite accepts it. */
export const expressionError = (data: Record<string, unknown>): string | undefined => {
  for (const [name, member] of [
    ['ConditionExpression', '_condition'],
    ['FilterExpression', '_filter'],
  ] as const) {
    const message = operandError(parsedExpression.safeParse(data[member]).data?.expression);
    if (message !== undefined) return `Invalid ${name}: ${message}`;
  }
  return undefined;
};

/** Returns a message if an expression compares the order of a value that has none. */
const operandError = (expression: unknown): string | undefined => {
  const parsed = operation.safeParse(expression).data;
  if (!parsed) return undefined;
  for (const argument of parsed.args) {
    const message = ORDERING.includes(parsed.type) ? orderError(parsed.type, argument) : undefined;
    if (message !== undefined) return message;
    const nested = operandError(argument);
    if (nested !== undefined) return nested;
  }
  return undefined;
};

const value = z.record(z.string(), z.unknown());

const orderError = (operator: string, argument: unknown): string | undefined => {
  if (Array.isArray(argument) || operation.safeParse(argument).success) return undefined;
  const [type = 'S'] = Object.keys(value.safeParse(argument).data ?? {});
  if (ORDERED_TYPES.includes(type)) return undefined;
  return `Incorrect operand type for operator or function; operator or function: ${operator.toUpperCase()}, operand type: ${type}`;
};
