import { type Attributes, attributeOf, type Value } from '../value.ts';
import { ExpressionError, type Path } from './parser.ts';

/** Returns a member of a map or an element of a list. */
export const childOf = (value: Value, element: string | number): Value | undefined => {
  if (typeof element === 'number') return 'L' in value ? value.L[element] : undefined;
  return 'M' in value ? attributeOf(value.M, element) : undefined;
};

/** Returns the value at a path, or undefined if there is none. */
export const valueAt = (item: Attributes, path: Path): Value | undefined => {
  let value: Value | undefined = { M: item };
  for (const element of path) value = value && childOf(value, element);
  return value;
};

/** Returns a path as errors show it. */
export const pathText = (path: Path): string =>
  `[${path.map((element) => (typeof element === 'number' ? `[${element}]` : element)).join(', ')}]`;

/** Paths that do not overlap: each ends with a leaf, or branches at its next element. */
export type PathTree<Leaf> = { path: Path; children: Map<string | number, PathTree<Leaf>>; leaf?: Leaf };

/** @throws ExpressionError if paths overlap, or one reads as a list what another one reads as a map */
export const pathTree = <Leaf>(paths: readonly (readonly [Path, Leaf])[]): PathTree<Leaf> => {
  const root: PathTree<Leaf> = { path: [], children: new Map() };
  for (const [path, leaf] of paths) {
    let node = root;
    for (const element of path) {
      const [[sibling, { path: other }] = [element, node]] = node.children;
      if (node.leaf !== undefined) throw pathError('overlap', node.path, path);
      if (typeof sibling !== typeof element) throw pathError('conflict', other, path);
      const child: PathTree<Leaf> = node.children.get(element) ?? { path, children: new Map() };
      node.children.set(element, child);
      node = child;
    }
    if (node.leaf !== undefined || node.children.size > 0) throw pathError('overlap', node.path, path);
    node.leaf = leaf;
  }
  return root;
};

const pathError = (kind: 'overlap' | 'conflict', one: Path, two: Path) =>
  new ExpressionError(
    `Two document paths ${kind} with each other; must remove or rewrite one of these paths; path one: ${pathText(one)}, path two: ${pathText(two)}`,
  );

/** Returns an item with only the values at some paths. */
export const project = (item: Attributes, tree: PathTree<unknown>): Attributes => {
  const projected = projectValue({ M: item }, tree);
  return projected && 'M' in projected ? projected.M : {};
};

const projectValue = (value: Value, { children }: PathTree<unknown>): Value | undefined => {
  if (children.size === 0) return value;
  const members = [...children]
    .toSorted(([a], [b]) => Number(a) - Number(b))
    .flatMap(([element, subtree]) => {
      const child = childOf(value, element);
      const projected = child && projectValue(child, subtree);
      return projected ? [[element, projected] as const] : [];
    });
  if (members.length === 0) return undefined;
  return 'L' in value ? { L: members.map(([, member]) => member) } : { M: Object.fromEntries(members) };
};
