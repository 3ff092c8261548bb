import { validationError } from '../errors.ts';
import { readAttributes } from '../read-value.ts';
import { type Attributes, attributeOf, type Value } from '../value.ts';
import { ExpressionError, type Path } from './lexer.ts';

/** The attribute names and values that the expressions of a request use. */
export class Scope {
  readonly #names: Readonly<Record<string, string>>;
  readonly #values: Attributes;
  readonly #unused: Set<string>;

  /** @throws DynamoDbError if a name or a value is invalid */
  constructor(names: Readonly<Record<string, string>> | undefined, values: unknown) {
    assertPlaceholders('Names', '#', names);
    assertPlaceholders('Values', ':', values);
    this.#names = names ?? {};
    this.#values = values === undefined ? {} : readAttributes(values);
    this.#unused = new Set([...Object.keys(this.#names), ...Object.keys(this.#values)]);
  }

  get values(): Attributes {
    return this.#values;
  }

  /** Returns the value of a placeholder. */
  value(placeholder: string): Value {
    const value = attributeOf(this.#values, placeholder);
    if (!value) {
      throw new ExpressionError(
        `An expression attribute value used in expression is not defined; attribute value: ${placeholder}`,
      );
    }
    this.#unused.delete(placeholder);
    return value;
  }

  /** Returns a path with the names of its attributes. */
  path(path: Path): Path {
    return path.map((element) =>
      typeof element === 'string' && element.startsWith('#') ? this.#name(element) : element,
    );
  }

  #name(placeholder: string): string {
    const name = Object.hasOwn(this.#names, placeholder) ? this.#names[placeholder] : undefined;
    if (name === undefined) {
      throw new ExpressionError(
        `An expression attribute name used in the document path is not defined; attribute name: ${placeholder}`,
      );
    }
    this.#unused.delete(placeholder);
    return name;
  }

  /** @throws DynamoDbError if a name or value has not been used */
  assertAllUsed(): void {
    if (this.#unused.size === 0) return;
    for (const [kind, sign] of [
      ['Names', '#'],
      ['Values', ':'],
    ] as const) {
      const keys = [...this.#unused].filter((key) => key.startsWith(sign));
      if (keys.length > 0) {
        throw validationError(
          `Value provided in ExpressionAttribute${kind} unused in expressions: keys: {${keys.join(', ')}}`,
        );
      }
    }
  }
}

const assertPlaceholders = (kind: 'Names' | 'Values', sign: '#' | ':', members: unknown): void => {
  if (typeof members !== 'object' || members === null) return;
  const keys = Object.keys(members);
  if (keys.length === 0) throw validationError(`ExpressionAttribute${kind} must not be empty`);
  const invalid = keys.find((key) => !key.startsWith(sign) || !/^\w+$/.test(key.slice(1)));
  if (invalid !== undefined) {
    throw validationError(`ExpressionAttribute${kind} contains invalid key: Syntax error; key: "${invalid}"`);
  }
};
