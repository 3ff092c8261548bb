import { validationError } from '../errors.ts';
import { utf8Order } from '../order.ts';
import type { KeyAttribute, Table } from '../table.ts';
import type { Value } from '../value.ts';
import type { Expressions } from './expressions.ts';
import type { Node } from './parser.ts';

/** The conditions of a query, by the name of the attribute. */
export type KeyCondition = ReadonlyMap<string, { operator: string; values: readonly Value[] }>;

/** The sort keys of a query: those that are neither before nor after the range. */
export type KeyRange = { isBefore(sort: string): boolean; isAfter(sort: string): boolean };

const OPERATORS = ['=', '<', '<=', '>', '>=', 'BETWEEN', 'begins_with'];

/** Reads the key condition of a request. @throws DynamoDbError if it is absent or invalid */
export const readKeyCondition = (expressions: Expressions): KeyCondition => {
  const conditions = new Map<string, { operator: string; values: readonly Value[] }>();
  const read = (node: Node): void => {
    const { operator, operands } = { operator: '', operands: [], ...node };
    if (operator === 'AND') for (const operand of operands) read(operand);
    if (operator === 'AND') return;
    if (!OPERATORS.includes(operator)) {
      throw validationError(`Invalid operator used in KeyConditionExpression: ${operator}`);
    }
    const [{ path } = {}, ...others] = expressions.operands(operator, operands);
    const values = others.flatMap(({ literal }) => literal ?? []);
    if (!path || path.index !== undefined || values.length < others.length) {
      throw validationError(
        'Invalid condition in KeyConditionExpression: A condition compares one key attribute with values',
      );
    }
    if (conditions.has(path.name)) {
      throw validationError('KeyConditionExpressions must only contain one condition per key');
    }
    conditions.set(path.name, { operator, values });
  };
  const isPresent = expressions.read('KeyConditionExpression', (nodes) => {
    for (const node of nodes) read(node);
    return true;
  });
  if (isPresent) return conditions;
  throw validationError(
    'Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.',
  );
};

/**
 * Returns the partition key value of a query and the range of its sort keys.
 *
 * @throws DynamoDbError if the condition does not match the key of the table
 */
export const queriedKeys = (condition: KeyCondition, { definition }: Table): { partition: string; range: KeyRange } => {
  const { operator, values } = comparisonOf(condition, definition.partition);
  const sort = definition.sort && condition.size > 1 ? comparisonOf(condition, definition.sort) : undefined;
  const [partition] = values;
  if (operator !== '=' || partition === undefined || condition.size > (sort ? 2 : 1)) {
    throw validationError('Query key condition not supported');
  }
  return { partition, range: sort ? rangeOf(sort) : { isBefore: () => false, isAfter: () => false } };
};

const comparisonOf = (condition: KeyCondition, { name }: KeyAttribute) => {
  const comparison = condition.get(name);
  if (!comparison) throw validationError(`Query condition missed key schema element: ${name}`);
  const values = comparison.values.flatMap((value) => ('S' in value ? value.S : []));
  if (values.length === comparison.values.length) return { ...comparison, values };
  throw validationError(
    'One or more parameter values were invalid: Condition parameter type does not match schema type',
  );
};

const rangeOf = ({ operator, values }: { operator: string; values: readonly string[] }): KeyRange => {
  const [low = '', high = low] = values.map(utf8Order);
  const isNever = () => false;
  if (operator.startsWith('<'))
    return { isBefore: isNever, isAfter: (sort) => sort > low || (sort === low && operator === '<') };
  if (operator === '>') return { isBefore: (sort) => sort <= low, isAfter: isNever };
  const isAfter =
    {
      '>=': isNever,
      begins_with: (sort: string) => sort > low && !sort.startsWith(low),
    }[operator] ?? ((sort) => sort > high);
  return { isBefore: (sort) => sort < low, isAfter };
};
