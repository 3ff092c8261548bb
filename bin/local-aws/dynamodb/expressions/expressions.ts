import { validationError } from '../errors.ts';
import { assertNotBelowKey, type Table } from '../table.ts';

import { type Attributes, attributeOf, type Type, typeOf, type Value } from '../value.ts';
import { CONDITIONS, FUNCTIONS, literalError, type Values } from './operators.ts';
import { ExpressionError, type ExpressionName, type Node, type Path, parseExpression, withName } from './parser.ts';
import { pathText, pathTree, project, valueAt } from './path-tree.ts';

/** Returns whether an item meets a condition; an absent item has no attributes. */
export type Condition = (item: Attributes) => boolean;

/** Returns what selects the attributes of the response from an item of a table. */
export type Selection = (table: Table) => (item: Attributes) => Attributes;

/** An operand: its path, value and type as far as they are known, and how to read it from an item. */
export type Operand = { path?: Path; literal?: Value; type?: Type; of(item: Attributes): Value | undefined };

/** The parameters of a request that are expressions, with the names and values that they use. */
export type ExpressionParameters = { [Name in ExpressionName]?: string | undefined } & {
  ExpressionAttributeNames?: Readonly<Record<string, string>> | undefined;
  ExpressionAttributeValues?: Attributes | undefined;
};

const VALUE_EXPRESSIONS = [
  'UpdateExpression',
  'ConditionExpression',
  'FilterExpression',
  'KeyConditionExpression',
] as const;

/** The expressions of a request. */
export class Expressions {
  readonly #request: ExpressionParameters;
  readonly #unused: Set<string>;
  /** All paths of conditions. */
  readonly paths: Path[] = [];

  /** @throws DynamoDbError if names or values are invalid, or there is no expression that could use them */
  constructor(request: ExpressionParameters) {
    const { ExpressionAttributeNames: names, ExpressionAttributeValues: values } = request;
    const hasValueExpression = VALUE_EXPRESSIONS.some((name) => request[name] !== undefined);
    assertPlaceholders('Names', /^#\w+$/, names, hasValueExpression || request.ProjectionExpression !== undefined);
    assertPlaceholders('Values', /^:\w+$/, values, hasValueExpression);
    this.#request = request;
    this.#unused = new Set([...Object.keys(names ?? {}), ...Object.keys(values ?? {})]);
  }

  /**
   * Parses an expression of the request. Returns undefined if there is none.
   *
   * @throws DynamoDbError if it is invalid
   */
  read<Result>(name: ExpressionName, bind: (nodes: readonly Node[]) => Result): Result | undefined {
    const text = this.#request[name];
    return text === undefined ? undefined : withName(name, () => bind(parseExpression(name, text)));
  }

  condition(name: 'ConditionExpression' | 'FilterExpression'): Condition | undefined {
    return this.read(name, ([node]) => {
      if (!node) return undefined;
      this.paths.push(...pathsIn(node).map((path) => this.path(path)));
      return this.#condition(node);
    });
  }

  /** Reads which attributes a response has. The result throws a DynamoDbError if there is a path below a key. */
  selection(): Selection {
    const projection = this.read('ProjectionExpression', (nodes) =>
      pathTree(nodes.flatMap(pathsIn).map((path) => [this.path(path), true] as const)),
    );
    if (!projection) return () => (item) => item;
    return (table) => {
      assertNotBelowKey(
        table,
        [...projection.children].map(([name, { children }]) => [name, ...children.keys()]),
      );
      return (item) => project(item, projection);
    };
  }

  #condition(node: Node): Condition {
    if (!('operator' in node)) throw new Error('An operand is no condition.');
    const { operator, operands } = node;
    if (operator === 'AND' || operator === 'OR' || operator === 'NOT') {
      const [first, second = first] = operands.map((operand) => this.#condition(operand));
      if (!first || !second) throw new Error(`${operator} has no operands.`);
      if (operator === 'NOT') return (item) => !first(item);
      return operator === 'AND' ? (item) => first(item) && second(item) : (item) => first(item) || second(item);
    }
    const { of } = operatorIn(CONDITIONS, operator);
    const bound = this.operands(operator, operands);
    return (item) => of(bound.map((operand) => operand.of(item)));
  }

  /** Finds the names and values of the operands of an operator, and checks them. */
  operands(operator: string, nodes: readonly Node[]): Operand[] {
    const { count = nodes.length, types, needsPath } = { ...CONDITIONS[operator], ...FUNCTIONS[operator] };
    if (nodes.length !== count || nodes.length > 101) {
      throw new ExpressionError(
        `Incorrect number of operands for operator or function; operator or function: ${operator}, number of operands: ${nodes.length}`,
      );
    }
    const operands = nodes.map((node) => this.operand(node));
    const [first] = operands;
    const [path, ...others] = operands.map((operand) => operand.path && pathText(operand.path));
    if (path !== undefined && others.includes(path) && Object.hasOwn(CONDITIONS, operator)) {
      throw new ExpressionError(
        `The first operand must be distinct from the remaining operands for this operator or function; operator: ${operator}, first operand: ${path}`,
      );
    }
    if (needsPath && !first?.path) {
      throw new ExpressionError(`Operator or function requires a document path; operator or function: ${operator}`);
    }
    if (types) for (const { type } of operands) assertType(operator, type, types);
    const problem = literalError(
      operator,
      operands.map(({ literal }) => literal),
    );
    if (problem !== undefined) throw new ExpressionError(problem);
    return operands;
  }

  operand(node: Node): Operand {
    if ('path' in node) {
      const path = this.path(node.path);
      return { path, of: (item) => valueAt(item, path) };
    }
    if ('placeholder' in node) {
      const literal = this.#used(
        node.placeholder,
        attributeOf(this.#request.ExpressionAttributeValues ?? {}, node.placeholder),
      );
      return { literal, type: typeOf(literal), of: () => literal };
    }
    const { of, type } = operatorIn(FUNCTIONS, node.operator);
    const operands = this.operands(node.operator, node.operands);
    const read = (item: Attributes): Values => operands.map((operand) => operand.of(item));
    return { ...(type && { type }), of: (item) => of(read(item)) };
  }

  /** Returns a path with the names of its attributes. */
  path(path: Path): Path {
    const names = this.#request.ExpressionAttributeNames ?? {};
    return path.map((element) =>
      typeof element === 'string' && element.startsWith('#')
        ? this.#used(element, Object.hasOwn(names, element) ? names[element] : undefined)
        : element,
    );
  }

  #used<Result>(placeholder: string, result: Result | undefined): Result {
    if (result === undefined) {
      throw new ExpressionError(
        placeholder.startsWith('#')
          ? `An expression attribute name used in the document path is not defined; attribute name: ${placeholder}`
          : `An expression attribute value used in expression is not defined; attribute value: ${placeholder}`,
      );
    }
    this.#unused.delete(placeholder);
    return result;
  }

  /** @throws DynamoDbError if a name or value has not been used */
  assertAllUsed(): void {
    for (const [kind, sign] of Object.entries({ Names: '#', Values: ':' })) {
      const keys = [...this.#unused].filter((key) => key.startsWith(sign)).join(', ');
      if (keys === '') continue;
      throw validationError(`Value provided in ExpressionAttribute${kind} unused in expressions: keys: {${keys}}`);
    }
  }
}

const pathsIn = (node: Node): readonly Path[] => {
  if ('path' in node) return [node.path];
  return 'operator' in node ? node.operands.flatMap(pathsIn) : [];
};

/** Returns a condition or a function. */
const operatorIn = <Operator>(operators: Readonly<Record<string, Operator>>, name: string): Operator => {
  const operator = Object.hasOwn(operators, name) ? operators[name] : undefined;
  if (operator) return operator;
  throw new ExpressionError(
    Object.hasOwn(CONDITIONS, name) || Object.hasOwn(FUNCTIONS, name)
      ? `The function is not allowed to be used this way in an expression; function: ${name}`
      : `Invalid function name; function: ${name}`,
  );
};

/** @throws ExpressionError if an operand is a value of another type */
export const assertType = (operator: string, type: Type | undefined, types: readonly Type[]): void => {
  if (!type || types.includes(type)) return;
  throw new ExpressionError(
    `Incorrect operand type for operator or function; operator or function: ${operator}, operand type: ${type}`,
  );
};

const assertPlaceholders = (kind: string, pattern: RegExp, members: object | undefined, isUsable: boolean): void => {
  if (!members) return;
  if (!isUsable) throw validationError(`ExpressionAttribute${kind} can only be specified when using expressions`);
  const keys = Object.keys(members);
  if (keys.length === 0) throw validationError(`ExpressionAttribute${kind} must not be empty`);
  const invalid = keys.find((key) => !pattern.test(key));
  if (invalid === undefined) return;
  throw validationError(`ExpressionAttribute${kind} contains invalid key: Syntax error; key: "${invalid}"`);
};
