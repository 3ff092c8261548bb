import { parse } from '@babel/parser';
import { check } from 'recheck';

/** A regular expression of a source. One that `new RegExp` creates has its code instead, because it has no fixed text. */
export type FoundExpression = { pattern: string; flags: string } | { code: string };

/** Finds the regular expressions of a TypeScript source. @throws SyntaxError */
export const findExpressions = (source: string, isJsx: boolean): FoundExpression[] => {
  const found: FoundExpression[] = [];
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    const type = 'type' in node ? node.type : undefined;
    if (type === 'RegExpLiteral' && 'pattern' in node && 'flags' in node)
      found.push({ pattern: String(node.pattern), flags: String(node.flags) });
    if (type === 'NewExpression' && 'start' in node && 'end' in node) {
      const code = source.slice(Number(node.start), Number(node.end));
      if (code.startsWith('new RegExp(')) found.push({ code });
    }
    for (const child of Object.values(node)) visit(child);
  };
  visit(parse(source, { sourceType: 'module', plugins: isJsx ? ['typescript', 'jsx'] : ['typescript'] }).program);
  return found;
};

/** In ms. */
const TIMEOUT = 10_000;

/** Returns whether the time of an expression is linear in its input. One that cannot be analyzed counts as not. */
export const isLinear = async (pattern: string, flags: string): Promise<boolean> =>
  (await check(pattern, flags, { timeout: TIMEOUT })).status === 'safe';
