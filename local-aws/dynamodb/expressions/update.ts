import { validationError } from '../errors.ts';
import { addNumbers } from '../number.ts';
import { type Attributes, setOf, type Type, typeOf, type Value } from '../value.ts';
import { assertTypes, bindOperand, type Operand } from './condition.ts';
import { expressionParser, withName } from './expression-cache.ts';
import { ExpressionError, type Lexer, type Path } from './lexer.ts';
import { childOf, type PathTree, pathTree } from './path.ts';
import type { Scope } from './scope.ts';

/** What is assigned: an operand, or an operator or a function with its operands. */
type AssignedSyntax =
  | { path: Path }
  | { placeholder: string }
  | { operator: '+' | '-' | 'if_not_exists' | 'list_append'; operands: readonly AssignedSyntax[] };

type Clause =
  | { action: 'SET'; path: Path; value: AssignedSyntax }
  | { action: 'REMOVE'; path: Path }
  | { action: 'ADD' | 'DELETE'; path: Path; placeholder: string };

const SECTIONS = ['SET', 'REMOVE', 'ADD', 'DELETE'] as const;

const readUpdateSyntax = (lexer: Lexer): readonly Clause[] => {
  const clauses: Clause[] = [];
  const seen = new Set<string>();
  do {
    const action = SECTIONS.find((section) => lexer.skips(section));
    if (action === undefined) throw lexer.syntaxError();
    if (seen.has(action)) {
      throw new ExpressionError(`The "${action}" section can only be used once in an update expression;`);
    }
    seen.add(action);
    clauses.push(...lexer.list(() => readClause(lexer, action)));
  } while (!lexer.isAtEnd);
  return clauses;
};

const readClause = (lexer: Lexer, action: (typeof SECTIONS)[number]): Clause => {
  const path = lexer.path();
  if (action === 'REMOVE') return { action, path };
  if (action === 'SET') {
    lexer.expect('=');
    return { action, path, value: readAssigned(lexer) };
  }
  if (!lexer.next.startsWith(':')) throw lexer.syntaxError();
  return { action, path, placeholder: lexer.take() };
};

const readAssigned = (lexer: Lexer): AssignedSyntax => {
  const first = readOperand(lexer);
  for (const operator of ['+', '-'] as const) {
    if (lexer.skips(operator)) return { operator, operands: [first, readOperand(lexer)] };
  }
  return first;
};

const readOperand = (lexer: Lexer): AssignedSyntax => {
  if (lexer.next.startsWith(':')) return { placeholder: lexer.take() };
  if (lexer.skips('(')) {
    const inner = readAssigned(lexer);
    lexer.expect(')');
    return inner;
  }
  if (lexer.afterNext !== '(') return { path: lexer.path() };
  const operator = lexer.take();
  lexer.expect('(');
  const operands = lexer.list(() => readOperand(lexer));
  lexer.expect(')');
  if (operator !== 'if_not_exists' && operator !== 'list_append') {
    throw new ExpressionError(`Invalid function name; function: ${operator}`);
  }
  if (operands.length === 2) return { operator, operands };
  throw new ExpressionError(
    `Incorrect number of operands for operator or function; operator or function: ${operator}, number of operands: ${operands.length}`,
  );
};

const parse = expressionParser('UpdateExpression', readUpdateSyntax);

/** Returns the new value of one path; undefined removes it. `item` is the item before the update. */
type Change = (item: Attributes, value: Value | undefined) => Value | undefined;

/** The changes of an update, by their paths. */
export type Update = PathTree<Change>;

/**
 * Parses an update.
 *
 * @throws DynamoDbError if it is invalid
 */
export const readUpdate = (text: string, scope: Scope): Update => {
  const clauses = parse(text);
  return withName('UpdateExpression', () =>
    pathTree(clauses.map((clause) => [scope.path(clause.path), changeOf(clause, scope)] as const)),
  );
};

const changeOf = (clause: Clause, scope: Scope): Change => {
  if (clause.action === 'REMOVE') return () => undefined;
  if (clause.action === 'SET') {
    const { of } = bindAssigned(clause.value, scope);
    return (item) => of(item) ?? fail('The provided expression refers to an attribute that does not exist in the item');
  }
  const operand = bindOperand(clause, scope);
  const literal = scope.value(clause.placeholder);
  assertTypes(clause.action, operand, clause.action === 'ADD' ? ['N', 'SS', 'NS', 'BS'] : ['SS', 'NS', 'BS']);
  return clause.action === 'ADD' ? (_, value) => added(value, literal) : (_, value) => withoutElements(value, literal);
};

const fail = (message: string): never => {
  throw validationError(message);
};
const WRONG_TYPE = 'An operand in the update expression has an incorrect data type';
const INVALID_PATH = 'The document path provided in the update expression is invalid for update';

const bindAssigned = (syntax: AssignedSyntax, scope: Scope): Operand => {
  if (!('operator' in syntax)) return bindOperand(syntax, scope);
  const { operator } = syntax;
  const [first, second] = syntax.operands.map((operand) => bindAssigned(operand, scope));
  if (!first || !second) throw new Error(`${operator} needs two operands.`);
  if (operator === 'if_not_exists') {
    if (!first.path)
      throw new ExpressionError(`Operator or function requires a document path; operator or function: ${operator}`);
    return { of: (item) => first.of(item) ?? second.of(item) };
  }
  const types: readonly Type[] = operator === 'list_append' ? ['L'] : ['N'];
  assertTypes(operator, first, types);
  assertTypes(operator, second, types);
  return {
    of: (item) => {
      const [a, b] = [first.of(item), second.of(item)];
      if (!a || !b) return undefined;
      if (operator === 'list_append') return 'L' in a && 'L' in b ? { L: [...a.L, ...b.L] } : fail(WRONG_TYPE);
      return 'N' in a && 'N' in b ? { N: addNumbers(a.N, b.N, operator === '+' ? 1 : -1) } : fail(WRONG_TYPE);
    },
  };
};

const added = (value: Value | undefined, by: Value): Value => {
  if (!value) return by;
  if ('N' in value && 'N' in by) return { N: addNumbers(value.N, by.N, 1) };
  if ('SS' in value && 'SS' in by) return { SS: union(value.SS, by.SS) };
  if ('NS' in value && 'NS' in by) return { NS: union(value.NS, by.NS) };
  if ('BS' in value && 'BS' in by) return { BS: union(value.BS, by.BS) };
  return fail(WRONG_TYPE);
};

const union = (a: readonly string[], b: readonly string[]): readonly string[] => [...new Set([...a, ...b])];

const withoutElements = (value: Value | undefined, removed: Value): Value | undefined => {
  if (!value) return undefined;
  if (typeOf(value) !== typeOf(removed)) return fail(WRONG_TYPE);
  const gone = setOf(removed) ?? [];
  const rest = (setOf(value) ?? []).filter((element) => !gone.includes(element));
  if (rest.length === 0) return undefined;
  if ('SS' in value) return { SS: rest };
  return 'NS' in value ? { NS: rest } : { BS: rest };
};

/**
 * Returns the item after an update.
 *
 * @throws DynamoDbError if the item does not permit it
 */
export const applyUpdate = (item: Attributes, update: Update): Attributes => {
  const updated = change(item, { M: item }, update);
  return updated && 'M' in updated ? updated.M : {};
};

/** Indexes are those of the list before the update; values after its end are appended in their order. */
const change = (item: Attributes, value: Value | undefined, { leaf, children }: Update): Value | undefined => {
  if (leaf) return leaf(item, value);
  if (!value) return fail(INVALID_PATH);
  const changes = [...children].map(
    ([element, child]) => [element, change(item, childOf(value, element), child)] as const,
  );
  if ('L' in value && changes.every(([element]) => typeof element === 'number')) {
    const elements: (Value | undefined)[] = [...value.L];
    const sorted = changes.toSorted(([a], [b]) => Number(a) - Number(b));
    for (const [index, changed] of sorted) {
      if (Number(index) < value.L.length) elements[Number(index)] = changed;
      else elements.push(changed);
    }
    return { L: elements.filter((element) => element !== undefined) };
  }
  if (!('M' in value) || changes.some(([element]) => typeof element === 'number')) return fail(INVALID_PATH);
  const members = new Map(Object.entries(value.M));
  for (const [name, changed] of changes) {
    if (changed) members.set(String(name), changed);
    else members.delete(String(name));
  }
  return { M: Object.fromEntries(members) };
};
