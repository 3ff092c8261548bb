import { parse } from '@babel/parser';

type SyntaxNode = { type: string; start: number; end: number; [key: string]: unknown };

const FUNCTIONS = new Set([
  'FunctionDeclaration',
  'FunctionExpression',
  'ArrowFunctionExpression',
  'ObjectMethod',
  'ClassMethod',
  'ClassPrivateMethod',
]);

/**
 * Returns a function that finds the name of the function that contains an offset in TypeScript source text. Minified
 * code has other names, and a source map contains names only of some identifiers. A callback has the name of the
 * function around it. The result is undefined for code outside any named function.
 */
export const enclosingFunctions = (source: string): ((offset: number) => string | undefined) => {
  const root: unknown = parse(source, { sourceType: 'module', plugins: ['typescript'], errorRecovery: true }).program;
  return (offset) => {
    let name: string | undefined;
    let className: string | undefined;
    let parent: SyntaxNode | undefined;
    let node = isNode(root) ? root : undefined;
    // The nearest declaration, for a function that is an argument in its initializer: `const handler = wrap(() => …)`.
    let declared: string | undefined;
    while (node) {
      if (node.type.startsWith('Class') && 'id' in node) className = identifier(node.id) ?? className;
      if (node.type === 'VariableDeclarator') declared = identifier(node.id);
      if (FUNCTIONS.has(node.type)) {
        const own = identifier(node.id) ?? identifier(node.key) ?? (parent && nameGivenBy(parent));
        const isMethod = node.type.startsWith('Class');
        name =
          (isMethod && className !== undefined && own !== undefined ? `${className}.${own}` : own) ?? name ?? declared;
      }
      parent = node;
      node = children(node).find(({ start, end }) => start <= offset && offset < end);
    }
    return name;
  };
};

/** Returns the name that a declaration or property gives to the function that is its value. */
const nameGivenBy = (parent: SyntaxNode): string | undefined => identifier(parent.id) ?? identifier(parent.key);

/** Returns the name of an identifier, including `#private` names. */
const identifier = (node: unknown): string | undefined => {
  if (!isNode(node)) return undefined;
  if (node.type === 'PrivateName') return `#${identifier(node.id)}`;
  return node.type === 'Identifier' && typeof node.name === 'string' ? node.name : undefined;
};

const children = (node: SyntaxNode): SyntaxNode[] => Object.values(node).flat().filter(isNode);

const isNode = (value: unknown): value is SyntaxNode =>
  typeof value === 'object' && value !== null && 'type' in value && 'start' in value && typeof value.start === 'number';
