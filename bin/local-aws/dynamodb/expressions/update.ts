import { validationError } from '../errors.ts';
import { addNumbers } from '../number.ts';
import { type Attributes, setOf, type Type, typeOf, type Value } from '../value.ts';
import { assertType, type Expressions } from './expressions.ts';
import { wrongType } from './operators.ts';
import type { Node, Path } from './parser.ts';
import { childOf, type PathTree, pathTree } from './path-tree.ts';

/** Returns the new value of one path; undefined removes it. `item` is the item before the update. */
type Change = (item: Attributes, value: Value | undefined) => Value | undefined;

/** The changes of an update, by their paths. */
export type Update = PathTree<Change>;

const SETS: readonly Type[] = ['SS', 'NS', 'BS'];

/**
 * Reads the update of a request, if there is one.
 *
 * @throws DynamoDbError if it is invalid
 */
export const readUpdate = (expressions: Expressions): Update | undefined =>
  expressions.read('UpdateExpression', (clauses) => pathTree(clauses.map((clause) => readClause(clause, expressions))));

const readClause = (clause: Node, expressions: Expressions): readonly [Path, Change] => {
  if (!('operator' in clause)) throw new Error('A clause has no operator.');
  const { operator, operands } = clause;
  const [target, operand] = operands.map((node) => expressions.operand(node));
  if (!target?.path) throw new Error('A clause has no path.');
  return [target.path, changeOf(operator, operand?.literal, operand?.of)];
};

const changeOf = (
  operator: string,
  literal: Value | undefined,
  of: ((item: Attributes) => Value | undefined) | undefined,
): Change => {
  if (operator === 'SET')
    return (item) =>
      of?.(item) ?? fail('The provided expression refers to an attribute that does not exist in the item');
  if (!literal) return () => undefined;
  assertType(operator, typeOf(literal), operator === 'ADD' ? ['N', ...SETS] : SETS);
  return (_, value) => {
    if (!value) return operator === 'ADD' ? literal : undefined;
    if ('N' in value && 'N' in literal) return { N: addNumbers(value.N, literal.N, 1) };
    const [elements, others] = [setOf(value), setOf(literal) ?? []];
    if (!elements || typeOf(value) !== typeOf(literal)) throw wrongType();
    const changed = new Set(
      operator === 'ADD' ? [...elements, ...others] : elements.filter((one) => !others.includes(one)),
    );
    return changed.size === 0 ? undefined : setLike(value, [...changed]);
  };
};

const setLike = (value: Value, elements: readonly string[]): Value => {
  if ('SS' in value) return { SS: elements };
  return 'NS' in value ? { NS: elements } : { BS: elements };
};

const fail = (message: string): never => {
  throw validationError(message);
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
  const changes = [...children].map(
    ([key, child]) => [key, change(item, value && childOf(value, key), child)] as const,
  );
  const isList = typeof changes[0]?.[0] === 'number';
  if (value && 'L' in value && isList) {
    const elements: (Value | undefined)[] = [...value.L];
    for (const [index, changed] of changes.toSorted(([a], [b]) => Number(a) - Number(b))) {
      elements[Number(index) < value.L.length ? Number(index) : elements.length] = changed;
    }
    return { L: elements.filter((element) => element !== undefined) };
  }
  if (!value || !('M' in value) || isList)
    return fail('The document path provided in the update expression is invalid for update');
  const members = new Map<string | number, Value>(Object.entries(value.M));
  for (const [name, changed] of changes) {
    if (changed) members.set(name, changed);
    else members.delete(name);
  }
  return { M: Object.fromEntries(members) };
};
