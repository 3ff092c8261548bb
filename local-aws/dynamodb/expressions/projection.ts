import type { Attributes, Value } from '../value.ts';
import { expressionParser, withName } from './expression-cache.ts';
import type { Path } from './lexer.ts';
import { childOf, type PathTree, pathTree } from './path.ts';
import type { Scope } from './scope.ts';

const parse = expressionParser('ProjectionExpression', (lexer) => lexer.list(() => lexer.path()));

/**
 * Parses a projection.
 *
 * @throws DynamoDbError if it is invalid
 */
export const readProjection = (text: string, scope: Scope): PathTree<true> => {
  const paths = parse(text);
  return withName('ProjectionExpression', () => projectionOf(paths.map((path) => scope.path(path))));
};

/** Creates the projection of some paths. */
export const projectionOf = (paths: readonly Path[]): PathTree<true> =>
  pathTree(paths.map((path) => [path, true] as const));

/** Returns an item with only the values at some paths. */
export const project = (item: Attributes, tree: PathTree<unknown>): Attributes => {
  const projected = projectValue({ M: item }, tree);
  return projected && 'M' in projected ? projected.M : {};
};

const projectValue = (value: Value, { children }: PathTree<unknown>): Value | undefined => {
  if (children.size === 0) return value;
  const elements = [...children.keys()].toSorted((a, b) => Number(a) - Number(b));
  const members = elements.flatMap((element) => {
    const child = childOf(value, element);
    const subtree = children.get(element);
    const projected = child && subtree && projectValue(child, subtree);
    return projected ? [[String(element), projected] as const] : [];
  });
  if (members.length === 0) return undefined;
  return 'L' in value ? { L: members.map(([, member]) => member) } : { M: Object.fromEntries(members) };
};
