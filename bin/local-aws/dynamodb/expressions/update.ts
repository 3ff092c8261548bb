import { validationError } from '../errors.ts';
import { addNumbers } from '../number.ts';
import { type Attributes, attributeOf, typeOf, type Value } from '../value.ts';
import { assertDistinctNames, assertType, type Expressions, type Operand } from './expressions.ts';
import type { Node } from './parser.ts';

/** Returns the new value of an attribute; undefined removes it. `item` is the item before the update. */
type Change = (item: Attributes, value: Value | undefined) => Value | undefined;

export type Update = ReadonlyMap<string, Change>;

/** Reads the update of a request, if there is one. @throws DynamoDbError if it is invalid */
export const readUpdate = (expressions: Expressions): Update | undefined =>
  expressions.read('UpdateExpression', (clauses) => {
    const changes = clauses.map((clause) => readClause(clause, expressions));
    assertDistinctNames(changes.map(([name]) => name));
    return new Map(changes);
  });

const readClause = (clause: Node, expressions: Expressions): readonly [string, Change] => {
  if (!('operator' in clause)) throw new Error('A clause has no operator.');
  const { operator, operands } = clause;
  const [target, operand] = operands.map((node) => expressions.operand(node));
  if (!target?.path) throw new Error('A clause has no path.');
  return [target.path.name, changeOf(operator, operand)];
};

const changeOf = (operator: string, operand: Operand | undefined): Change => {
  if (operator === 'SET') {
    return (item) => {
      const value = operand?.of(item);
      if (value) return value;
      throw validationError('The provided expression refers to an attribute that does not exist in the item');
    };
  }
  const literal = operand?.literal;
  if (!literal) return () => undefined;
  assertType(operator, typeOf(literal), operator === 'ADD' ? ['N', 'SS'] : ['SS']);
  return (_, value) => {
    if (!value) return operator === 'ADD' ? literal : undefined;
    if ('N' in value && 'N' in literal) return { N: addNumbers(value.N, literal.N) };
    if (!('SS' in value && 'SS' in literal)) {
      throw validationError('An operand in the update expression has an incorrect data type');
    }
    const given = new Set(literal.SS);
    const changed = operator === 'ADD' ? new Set(value.SS).union(given) : new Set(value.SS).difference(given);
    return changed.size === 0 ? undefined : { SS: [...changed] };
  };
};

/** Returns the item after an update. @throws DynamoDbError if the item does not permit it */
export const applyUpdate = (item: Attributes, update: Update): Attributes => {
  const updated = new Map(Object.entries(item));
  for (const [name, change] of update) {
    const value = change(item, attributeOf(item, name));
    if (value) updated.set(name, value);
    else updated.delete(name);
  }
  return Object.fromEntries(updated);
};
