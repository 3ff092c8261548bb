import { validationError } from '../errors.ts';
import { type Attributes, attributeOf, type Type, typeOf, type Value } from '../value.ts';
import { boundsError, CONDITIONS, FUNCTIONS, type Values } from './operators.ts';
import { ExpressionError, type ExpressionName, type Node, type Path, parseExpression, withName } from './parser.ts';

/** Returns whether an item meets a condition; an absent item has no attributes. */
export type Condition = (item: Attributes) => boolean;

/** An operand: its path, value and type as far as they are known, and how to read it from an item. */
export type Operand = { path?: Path; literal?: Value; type?: Type; of(item: Attributes): Value | undefined };

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

export class Expressions {
  readonly #request: ExpressionParameters;
  readonly #unused: Set<string>;
  /** The names of the attributes in conditions. */
  readonly names: string[] = [];

  /** @throws DynamoDbError if names or values are invalid, or there is no expression that could use them */
  constructor(request: ExpressionParameters) {
    const { ExpressionAttributeNames: names, ExpressionAttributeValues: values } = request;
    const hasValueExpression = VALUE_EXPRESSIONS.some((name) => request[name] !== undefined);
    assertPlaceholders('Names', /^#\w+$/, names, hasValueExpression || request.ProjectionExpression !== undefined);
    assertPlaceholders('Values', /^:\w+$/, values, hasValueExpression);
    this.#request = request;
    this.#unused = new Set([...Object.keys(names ?? {}), ...Object.keys(values ?? {})]);
  }

  /** Parses an expression of the request. Returns undefined if there is none. @throws DynamoDbError if it is invalid */
  read<Result>(name: ExpressionName, bind: (nodes: readonly Node[]) => Result): Result | undefined {
    const text = this.#request[name];
    return text === undefined ? undefined : withName(name, () => bind(parseExpression(name, text)));
  }

  condition(name: 'ConditionExpression' | 'FilterExpression'): Condition | undefined {
    return this.read(name, ([node]) => {
      if (!node) return undefined;
      this.names.push(...namesIn(node).map((attribute) => this.#name(attribute)));
      return this.#condition(node);
    });
  }

  /** Returns what selects the attributes of the response from an item. */
  selection(): (item: Attributes) => Attributes {
    const names = this.read('ProjectionExpression', (nodes) => {
      const selected = nodes.flatMap((node) => this.operand(node).path?.name ?? []);
      assertDistinctNames(selected);
      return selected;
    });
    if (!names) return (item) => item;
    return (item) => {
      const found: Record<string, Value> = {};
      for (const name of names) {
        const value = attributeOf(item, name);
        if (value) found[name] = value;
      }
      return found;
    };
  }

  #condition(node: Node): Condition {
    if (!('operator' in node)) throw new Error('An operand is no condition.');
    const { operator, operands } = node;
    if (operator === 'AND' || operator === 'OR') {
      const [first, second] = operands.map((operand) => this.#condition(operand));
      if (!first || !second) throw new Error(`${operator} has no operands.`);
      return operator === 'AND' ? (item) => first(item) && second(item) : (item) => first(item) || second(item);
    }
    const bound = this.operands(operator, operands);
    return (item) => CONDITIONS[operator]?.of(bound.map((operand) => operand.of(item))) ?? false;
  }

  /** Finds the names and values of the operands of an operator, and checks them. */
  operands(operator: string, nodes: readonly Node[]): Operand[] {
    const { count = nodes.length, types, needsPath } = { ...CONDITIONS[operator], ...FUNCTIONS[operator] };
    if (nodes.length !== count) {
      throw new ExpressionError(
        `Incorrect number of operands for operator or function; operator or function: ${operator}, number of operands: ${nodes.length}`,
      );
    }
    const operands = nodes.map((node) => this.operand(node));
    const [first, ...others] = operands.map(({ path }) => path);
    const isRepeated = others.some((path) => path && path.name === first?.name && path.index === first.index);
    if (isRepeated && Object.hasOwn(CONDITIONS, operator)) {
      throw new ExpressionError(
        `The first operand must be distinct from the remaining operands for this operator or function; operator: ${operator}, first operand: [${first?.name}]`,
      );
    }
    if (needsPath && !first) {
      throw new ExpressionError(`Operator or function requires a document path; operator or function: ${operator}`);
    }
    if (types) for (const { type } of operands) assertType(operator, type, types);
    const problem = operator === 'BETWEEN' ? boundsError(operands.map(({ literal }) => literal)) : undefined;
    if (problem !== undefined) throw new ExpressionError(problem);
    return operands;
  }

  operand(node: Node): Operand {
    if ('path' in node) {
      const { index } = node.path;
      const path = { ...node.path, name: this.#name(node.path.name) };
      return {
        path,
        of: (item) => {
          const value = attributeOf(item, path.name);
          if (index === undefined) return value;
          return value && 'L' in value ? value.L[index] : undefined;
        },
      };
    }
    if ('placeholder' in node) {
      const { placeholder } = node;
      const literal = this.#used(placeholder, attributeOf(this.#request.ExpressionAttributeValues ?? {}, placeholder));
      return { literal, type: typeOf(literal), of: () => literal };
    }
    const found = FUNCTIONS[node.operator];
    const operands = this.operands(node.operator, node.operands);
    const read = (item: Attributes): Values => operands.map((operand) => operand.of(item));
    return { ...(found?.type && { type: found.type }), of: (item) => found?.of(read(item)) };
  }

  #name(name: string): string {
    if (!name.startsWith('#')) return name;
    const names = this.#request.ExpressionAttributeNames ?? {};
    return this.#used(name, Object.hasOwn(names, name) ? names[name] : undefined);
  }

  #used<Result>(placeholder: string, result: Result | undefined): Result {
    if (result === undefined) {
      const kind = placeholder.startsWith('#') ? 'name' : 'value';
      throw new ExpressionError(`An expression attribute ${kind} is not defined; attribute ${kind}: ${placeholder}`);
    }
    this.#unused.delete(placeholder);
    return result;
  }

  /** @throws DynamoDbError if a name or value has not been used */
  assertAllUsed(): void {
    if (this.#unused.size === 0) return;
    const keys = [...this.#unused].join(', ');
    throw validationError(
      `Value provided in ExpressionAttributeNames or -Values unused in expressions: keys: {${keys}}`,
    );
  }
}

const namesIn = (node: Node): string[] => {
  if ('path' in node) return [node.path.name];
  return 'operator' in node ? node.operands.flatMap(namesIn) : [];
};

/** @throws ExpressionError if an attribute occurs twice in a list */
export const assertDistinctNames = (names: readonly string[]): void => {
  if (new Set(names).size === names.length) return;
  throw new ExpressionError('Two document paths overlap with each other; must remove or rewrite one of these paths');
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
