import { compare } from '../order.ts';
import { type Attributes, isEqual, isType, setOf, type Type, textOf, typeOf, type Value } from '../value.ts';
import { type ConditionSyntax, conditionParsers, type OperandSyntax, type Operator } from './condition-syntax.ts';
import { withName } from './expression-cache.ts';
import { ExpressionError, type Path } from './lexer.ts';
import { pathText, valueAt } from './path.ts';
import type { Scope } from './scope.ts';

/** Returns whether an item meets a condition; an absent item has no attributes. */
export type Condition = (item: Attributes) => boolean;

/** An operand: its path or its value if it is one, and how to read it from an item. */
export type Operand = { path?: Path; literal?: Value; of(item: Attributes): Value | undefined };

/**
 * Parses a condition.
 *
 * @param onPath called with each path
 * @throws DynamoDbError if it is invalid
 */
export const readCondition = (
  name: 'ConditionExpression' | 'FilterExpression',
  text: string,
  scope: Scope,
  onPath: (path: Path) => void = () => {},
): Condition => {
  const syntax = conditionParsers[name](text);
  return withName(name, () => bind(syntax, scope, onPath));
};

const bind = (syntax: ConditionSyntax, scope: Scope, onPath: (path: Path) => void): Condition => {
  if ('operator' in syntax) {
    const operands = syntax.operands.map((operand) => bindOperand(operand, scope));
    for (const { path } of operands) if (path) onPath(path);
    assertValid(syntax.operator, operands);
    const test = TESTS[syntax.operator];
    return (item) => test(operands.map(({ of }) => of(item)));
  }
  const conditions = syntax.conditions.map((condition) => bind(condition, scope, onPath));
  if (syntax.logic === 'AND') return (item) => conditions.every((condition) => condition(item));
  if (syntax.logic === 'OR') return (item) => conditions.some((condition) => condition(item));
  return (item) => !conditions.some((condition) => condition(item));
};

/** Finds the names and values of an operand. */
export const bindOperand = (syntax: OperandSyntax, scope: Scope): Operand => {
  if ('path' in syntax) {
    const path = scope.path(syntax.path);
    return { path, of: (item) => valueAt(item, path) };
  }
  if ('placeholder' in syntax) {
    const literal = scope.value(syntax.placeholder);
    return { literal, of: () => literal };
  }
  const operand = bindOperand(syntax.size, scope);
  assertTypes('size', operand, ['S', 'B', 'SS', 'NS', 'BS', 'L', 'M']);
  return { ...(operand.path && { path: operand.path }), of: (item) => sizeOf(operand.of(item)) };
};

const sizeOf = (value: Value | undefined): Value | undefined => {
  const size = value && countOf(value);
  return size === undefined ? undefined : { N: String(size) };
};

const countOf = (value: Value): number | undefined => {
  if ('S' in value) return value.S.length;
  if ('B' in value) return Buffer.byteLength(value.B, 'base64');
  if ('L' in value) return value.L.length;
  return 'M' in value ? Object.keys(value.M).length : setOf(value)?.length;
};

type Values = readonly (Value | undefined)[];
const ordered =
  (operator: '<' | '<=' | '>' | '>=') =>
  ([a, b]: Values): boolean =>
    a !== undefined && b !== undefined && compare(a, operator, b);

const equals = (a: Value | undefined, b: Value | undefined): boolean =>
  a !== undefined && b !== undefined && isEqual(a, b);

const TESTS: Readonly<Record<Operator, (values: Values) => boolean>> = {
  '=': ([a, b]) => equals(a, b),
  '<>': ([a, b]) => !equals(a, b),
  '<': ordered('<'),
  '<=': ordered('<='),
  '>': ordered('>'),
  '>=': ordered('>='),
  BETWEEN: ([value, low, high]) => ordered('>=')([value, low]) && ordered('<=')([value, high]),
  IN: ([value, ...others]) => others.some((other) => equals(value, other)),
  attribute_exists: ([value]) => value !== undefined,
  attribute_not_exists: ([value]) => value === undefined,
  attribute_type: ([value, type]) => value !== undefined && type !== undefined && typeOf(value) === textOf(type),
  begins_with: ([value, start]) => {
    if (value && start && 'B' in value && 'B' in start) return bytes(value.B).startsWith(bytes(start.B));
    return value !== undefined && start !== undefined && 'S' in value && 'S' in start && value.S.startsWith(start.S);
  },
  contains: ([value, member]) => value !== undefined && member !== undefined && contains(value, member),
};

const bytes = (base64: string): string => Buffer.from(base64, 'base64').toString('latin1');

const contains = (value: Value, member: Value): boolean => {
  if ('L' in value) return value.L.some((element) => isEqual(element, member));
  const text = textOf(member);
  if (text === undefined) return false;
  if ('S' in value && 'S' in member) return value.S.includes(member.S);
  if ('B' in value && 'B' in member) return bytes(value.B).includes(bytes(member.B));
  return typeOf(value) === `${typeOf(member)}S` && (setOf(value) ?? []).includes(text);
};

const ORDERED: readonly Type[] = ['S', 'N', 'B'];

const assertValid = (operator: Operator, operands: readonly Operand[]): void => {
  const [first, second, third] = operands;
  if (first?.path && second?.path && operands.length === 2 && pathText(first.path) === pathText(second.path)) {
    throw new ExpressionError(
      `The first operand must be distinct from the remaining operands for this operator or function; operator: ${operator}, first operand: ${pathText(first.path)}`,
    );
  }
  if (/^[<>]=?$|^BETWEEN$/.test(operator)) for (const operand of operands) assertTypes(operator, operand, ORDERED);
  if (operator === 'BETWEEN') assertBounds(second?.literal, third?.literal);
  if (operator === 'begins_with') for (const operand of operands) assertTypes(operator, operand, ['S', 'B']);
  if (operator === 'attribute_type') assertTypeName(second?.literal);
  if (/^attribute_(not_)?exists$/.test(operator) && !first?.path) {
    throw new ExpressionError(`Operator or function requires a document path; operator or function: ${operator}`);
  }
};

/** Checks the type of an operand that is a value. */
export const assertTypes = (operator: string, { literal }: Operand, types: readonly Type[]): void => {
  if (literal && !types.includes(typeOf(literal))) throw incorrectType(operator, typeOf(literal));
};

const incorrectType = (operator: string, type: string) =>
  new ExpressionError(
    `Incorrect operand type for operator or function; operator or function: ${operator}, operand type: ${type}`,
  );

const assertBounds = (low: Value | undefined, high: Value | undefined): void => {
  if (!low || !high || compare(low, '<=', high)) return;
  const problem =
    typeOf(low) === typeOf(high)
      ? 'upper bound to be greater than or equal to lower bound'
      : 'same data type for lower and upper bounds';
  const bound = (value: Value) => `AttributeValue: {${typeOf(value)}:${textOf(value)}}`;
  throw new ExpressionError(
    `The BETWEEN operator requires ${problem}; lower bound operand: ${bound(low)}, upper bound operand: ${bound(high)}`,
  );
};

const assertTypeName = (type: Value | undefined): void => {
  if (!type || !('S' in type))
    throw incorrectType('attribute_type', type ? typeOf(type) : '{NS,SS,L,BS,N,M,B,BOOL,NULL,S}');
  if (isType(type.S)) return;
  throw new ExpressionError(
    `Invalid attribute type name found; type: ${type.S}, valid types: {B,NULL,SS,BOOL,L,BS,N,NS,S,M}`,
  );
};
