import { type Attributes, attributeOf, type Value } from '../value.ts';
import { ExpressionError, type Path } from './lexer.ts';

/** Returns the value at a path, or undefined if there is none. */
export const valueAt = (item: Attributes, path: Path): Value | undefined => {
  let value: Value | undefined = { M: item };
  for (const element of path) value = value && childOf(value, element);
  return value;
};

/** Returns a member of a map or an element of a list. */
export const childOf = (value: Value, element: string | number): Value | undefined => {
  if (typeof element === 'number') return 'L' in value ? value.L[element] : undefined;
  return 'M' in value ? attributeOf(value.M, element) : undefined;
};

/** Returns a path as errors show it. */
export const pathText = (path: Path): string =>
  `[${path.map((element) => (typeof element === 'number' ? `[${element}]` : element)).join(', ')}]`;

/** Paths that do not overlap: each has a leaf, or branches at its next element. */
export type PathTree<Leaf> = { path: Path; children: Map<string | number, PathTree<Leaf>>; leaf?: Leaf };

/**
 * Creates a tree of paths with their leaves.
 *
 * @throws ExpressionError if two paths overlap, or one reads as a list what another one reads as a map
 */
export const pathTree = <Leaf>(paths: readonly (readonly [Path, Leaf])[]): PathTree<Leaf> => {
  const root: PathTree<Leaf> = { path: [], children: new Map() };
  for (const [path, leaf] of paths) {
    let node = root;
    for (const element of path) {
      if (node.leaf !== undefined) throw pathError('overlap', node.path, path);
      const [first] = node.children.keys();
      if (first !== undefined && typeof first !== typeof element)
        throw pathError('conflict', node.children.get(first)?.path, path);
      const child: PathTree<Leaf> = node.children.get(element) ?? { path, children: new Map() };
      node.children.set(element, child);
      node = child;
    }
    if (node.leaf !== undefined || node.children.size > 0) throw pathError('overlap', node.path, path);
    node.leaf = leaf;
  }
  return root;
};

const pathError = (kind: 'overlap' | 'conflict', one: Path = [], two: Path) =>
  new ExpressionError(
    `Two document paths ${kind} with each other; must remove or rewrite one of these paths; path one: ${pathText(one)}, path two: ${pathText(two)}`,
  );
