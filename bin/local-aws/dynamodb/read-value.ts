import { serializationError, validationError } from './errors.ts';
import { normalizeNumber } from './number.ts';
import { type Attributes, isType, type Type, type Value } from './value.ts';

/** The maximum depth of lists and maps. */
const MAX_DEPTH = 32;

/** Reads attributes of a request. @throws DynamoDbError if a value is invalid */
export const readAttributes = (raw: unknown, depth = 0): Attributes =>
  Object.fromEntries(Object.entries(objectOf(raw)).map(([name, value]) => [wellFormed(name), readValue(value, depth)]));

/** Reads a value of a request, with numbers normalized. @throws DynamoDbError if it is invalid */
export const readValue = (raw: unknown, depth = 0): Value => {
  let value: Value | undefined;
  for (const [type, content] of Object.entries(objectOf(raw))) {
    if (!isType(type)) continue;
    if (value) throw notOneType('has more than one datatypes set');
    value = readAs(type, content, depth);
  }
  if (!value) throw notOneType('is empty');
  return value;
};

const notOneType = (problem: string) =>
  validationError(`Supplied AttributeValue ${problem}, must contain exactly one of the supported datatypes`);

const readAs = (type: Type, content: unknown, depth: number): Value => {
  switch (type) {
    case 'S':
      return { S: wellFormed(stringOf(content)) };
    case 'N':
      return { N: normalizeNumber(stringOf(content)) };
    case 'B':
      return { B: binaryOf(content) };
    case 'BOOL':
      return { BOOL: booleanOf(content) };
    case 'NULL':
      if (booleanOf(content)) return { NULL: true };
      throw invalidValue('Null attribute value types must have the value of true');
    case 'SS':
      return { SS: readSet(listOf(content).map((element) => wellFormed(stringOf(element)))) };
    case 'L':
      return { L: listOf(content).map((element) => readValue(element, nested(depth))) };
    case 'M':
      return { M: readAttributes(content, nested(depth)) };
  }
};

const invalidValue = (message: string) => validationError(`One or more parameter values were invalid: ${message}`);

const readSet = (elements: readonly string[]): readonly string[] => {
  if (elements.length === 0) throw invalidValue('A set may not be empty');
  if (new Set(elements).size < elements.length) throw invalidValue('Input collection contains duplicates.');
  return elements;
};

const nested = (depth: number): number => {
  if (depth < MAX_DEPTH - 1) return depth + 1;
  throw validationError('Nesting Levels have exceeded supported limits');
};

const objectOf = (raw: unknown): object => {
  if (typeof raw === 'object' && raw !== null && !Array.isArray(raw)) return raw;
  throw serializationError('Start of structure or map expected');
};

const listOf = (raw: unknown): readonly unknown[] => {
  if (Array.isArray(raw)) return raw;
  throw serializationError('Unexpected field type');
};

const stringOf = (raw: unknown): string => {
  if (typeof raw === 'string') return raw;
  throw serializationError('A value cannot be converted to String');
};

const booleanOf = (raw: unknown): boolean => {
  if (typeof raw === 'boolean') return raw;
  throw serializationError('A value cannot be converted to Boolean');
};

const binaryOf = (raw: unknown): string => {
  const text = stringOf(raw);
  if (Buffer.from(text, 'base64').toString('base64') === text) return text;
  throw serializationError('Invalid Base64');
};

/**
 * DynamoDB stores text as UTF-8, which cannot encode a lone surrogate. AWS documents the encoding but not the error;
 * this is the error for a body that cannot be deserialized, which SDKs do not retry.
 */
const wellFormed = (text: string): string => {
  if (text.isWellFormed()) return text;
  throw serializationError('A string of the request is not valid Unicode: it contains a lone surrogate.');
};
