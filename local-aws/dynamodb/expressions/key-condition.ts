import { validationError } from '../errors.ts';
import { compare, orderOf } from '../order.ts';
import type { KeyAttribute, Table } from '../table.ts';
import { typeOf, type Value } from '../value.ts';
import { bindOperand } from './condition.ts';
import { type ConditionSyntax, conditionParsers, type Operator } from './condition-syntax.ts';
import { withName } from './expression-cache.ts';
import type { Scope } from './scope.ts';

/** A condition on one key attribute. */
type KeyComparison = { operator: Operator; values: readonly Value[] };

/** The conditions of a query, by the name of the attribute. */
export type KeyCondition = ReadonlyMap<string, KeyComparison>;

/** The sort keys of a query: those that are neither before nor after the range. */
export type KeyRange = { isBefore(sort: string): boolean; isAfter(sort: string): boolean };

const FLIPPED: Partial<Record<Operator, Operator>> = { '=': '=', '<': '>', '<=': '>=', '>': '<', '>=': '<=' };
const ALLOWED: readonly Operator[] = ['=', '<', '<=', '>', '>=', 'BETWEEN', 'begins_with'];

/**
 * Parses a key condition.
 *
 * @throws DynamoDbError if it is invalid
 */
export const readKeyCondition = (text: string, scope: Scope): KeyCondition => {
  const syntax = conditionParsers.KeyConditionExpression(text);
  const conditions = new Map<string, KeyComparison>();
  for (const simple of flatten(syntax)) {
    const { name, ...comparison } = withName('KeyConditionExpression', () => readComparison(simple, scope));
    if (conditions.has(name)) throw validationError('KeyConditionExpressions must only contain one condition per key');
    conditions.set(name, comparison);
  }
  return conditions;
};

type Simple = Extract<ConditionSyntax, { operator: Operator }>;

const flatten = (syntax: ConditionSyntax): Simple[] => {
  if ('operator' in syntax) {
    if (ALLOWED.includes(syntax.operator)) return [syntax];
    throw invalidOperator(syntax.operator);
  }
  if (syntax.logic !== 'AND') throw invalidOperator(syntax.logic);
  return syntax.conditions.flatMap(flatten);
};

const invalidOperator = (operator: string) =>
  validationError(`Invalid operator used in KeyConditionExpression: ${operator}`);

const readComparison = ({ operator, operands }: Simple, scope: Scope): KeyComparison & { name: string } => {
  if (operands.some((operand) => 'size' in operand)) {
    throw validationError('KeyConditionExpressions cannot contain nested operations');
  }
  const bound = operands.map((operand) => bindOperand(operand, scope));
  const index = bound.findIndex(({ path }) => path);
  const path = bound[index]?.path;
  const values = bound.flatMap(({ literal }) => literal ?? []);
  if (!path) throw invalid('No key attribute specified');
  if (values.length < bound.length - 1) throw invalid('Multiple attribute names used in one condition');
  const used = index === 0 ? operator : FLIPPED[operator];
  if (used === undefined) throw invalid(`${operator} operator must have the key attribute as its first operand`);
  const [name] = path;
  if (path.length > 1) throw validationError('KeyConditionExpressions cannot have conditions on nested attributes');
  return { name: String(name), operator: used, values };
};

const invalid = (message: string) => validationError(`Invalid condition in KeyConditionExpression: ${message}`);

/**
 * Returns the partition key value of a query and the range of its sort keys.
 *
 * @throws DynamoDbError if the condition does not match the key of the table
 */
export const queriedKeys = (condition: KeyCondition, { definition }: Table): { partition: Value; range: KeyRange } => {
  if (condition.size > 2) throw validationError('Conditions can be of length 1 or 2 only');
  const hash = comparisonOf(condition, definition.partition);
  const sort = definition.sort && condition.size > 1 ? comparisonOf(condition, definition.sort) : undefined;
  const [partition] = hash.values;
  if (hash.operator !== '=' || !partition || (condition.size > 1 && !sort)) {
    throw validationError('Query key condition not supported');
  }
  return { partition, range: sort ? rangeOf(sort) : { isBefore: () => false, isAfter: () => false } };
};

const comparisonOf = (condition: KeyCondition, { name, type }: KeyAttribute): KeyComparison => {
  const comparison = condition.get(name);
  if (!comparison) throw validationError(`Query condition missed key schema element: ${name}`);
  const { operator, values } = comparison;
  if (values.some((value) => typeOf(value) !== type)) {
    throw validationError(
      'One or more parameter values were invalid: Condition parameter type does not match schema type',
    );
  }
  if (operator === 'begins_with' && type === 'N') {
    throw validationError(
      'Invalid KeyConditionExpression: Incorrect operand type for operator or function; operator or function: begins_with, operand type: N',
    );
  }
  const [low, high] = values;
  if (low && high && compare(low, '>', high)) {
    throw validationError(
      'Invalid KeyConditionExpression: The BETWEEN operator requires upper bound to be greater than or equal to lower bound',
    );
  }
  return comparison;
};

const rangeOf = ({ operator, values }: KeyComparison): KeyRange => {
  const [low = '', high = ''] = values.map((value) => orderOf(value) ?? '');
  const always = () => false;
  if (operator === '<') return { isBefore: always, isAfter: (sort) => sort >= low };
  if (operator === '<=') return { isBefore: always, isAfter: (sort) => sort > low };
  if (operator === '>') return { isBefore: (sort) => sort <= low, isAfter: always };
  if (operator === '>=') return { isBefore: (sort) => sort < low, isAfter: always };
  const isBefore = (sort: string) => sort < low;
  if (operator === 'begins_with') return { isBefore, isAfter: (sort) => sort > low && !sort.startsWith(low) };
  return { isBefore, isAfter: (sort) => sort > (operator === 'BETWEEN' ? high : low) };
};
