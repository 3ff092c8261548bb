import { parse } from '@babel/parser';

/** What reads a whole text. zod runs it also on a text that `maxLength` refuses. */
const READERS =
  /^z\.(regex|refine|superRefine|check|overwrite|trim|normalize|toLowerCase|toUpperCase|lowercase|uppercase|includes|startsWith|endsWith)$/;

/** The formats that zod checks with an expression of its own. */
const FORMATS =
  /^z\.(email|url|httpUrl|uuid|uuidv4|uuidv6|uuidv7|guid|nanoid|cuid|cuid2|ulid|xid|ksuid|ipv4|ipv6|mac|cidrv4|cidrv6|base64|base64url|e164|jwt|emoji|hostname|hex|hash|stringFormat|stringbool|templateLiteral|iso\.\w+|coerce\.string)$/;

/** The helpers whose arguments read only texts of bounded length (`text.ts`, `notification-fields.ts`). */
const BOUNDED = /^(boundedText|allowedBy)$/;

const STRING = /^z\.string$/;

type Node = { type: string; start: number; end: number };

const isNode = (value: unknown): value is Node & Record<string, unknown> =>
  typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';

/**
 * Finds what reads a text of any length in a source with zod schemas: refinements, expressions and formats of strings
 * that `boundedText` does not create.
 *
 * @returns the code of each
 * @throws SyntaxError
 */
export const findUnboundedTexts = (source: string): string[] => {
  const found: string[] = [];
  const codeOf = ({ start, end }: Node): string => source.slice(start, end);
  /** Returns the code of the function that a call calls, and its arguments. */
  const callOf = (node: unknown): { callee: string; object: unknown; args: unknown[] } | undefined => {
    if (!isNode(node) || node.type !== 'CallExpression' || !isNode(node.callee)) return undefined;
    const { callee } = node;
    return { callee: codeOf(callee), object: callee.object, args: Array.isArray(node.arguments) ? node.arguments : [] };
  };
  /** Returns whether a value is a string's schema, with or without checks. */
  const isString = (node: unknown): boolean => {
    const call = callOf(node);
    return call !== undefined && (STRING.test(call.callee) || isString(call.object));
  };
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    const call = callOf(value);
    if (call && BOUNDED.test(call.callee)) return;
    if (call && isNode(value)) {
      const isChain = isString(call.object);
      const reads = isChain && call.args.some((argument) => READERS.test(callOf(argument)?.callee ?? ''));
      if (reads || FORMATS.test(call.callee)) found.push(codeOf(value));
    }
    for (const child of Object.values(value)) visit(child);
  };
  visit(parse(source, { sourceType: 'module', plugins: ['typescript'] }).program);
  return found;
};
