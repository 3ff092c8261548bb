import { parse } from '@babel/parser';
import { check } from 'recheck';

/** A regular expression of a source. One that `RegExp` creates has its code instead, because it has no fixed text. */
export type FoundExpression = { pattern: string; flags: string } | { code: string };

/** Finds the regular expressions of a TypeScript source. @throws SyntaxError */
export const findExpressions = (source: string, isJsx: boolean): FoundExpression[] => {
  const found: FoundExpression[] = [];
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    const type = 'type' in node ? node.type : undefined;
    if (type === 'RegExpLiteral' && 'pattern' in node && 'flags' in node)
      found.push({ pattern: String(node.pattern), flags: String(node.flags) });
    if ((type === 'NewExpression' || type === 'CallExpression') && 'start' in node && 'end' in node) {
      const code = source.slice(Number(node.start), Number(node.end));
      if (/^(new\s+)?RegExp\(/.test(code)) found.push({ code });
    }
    for (const child of Object.values(node)) visit(child);
  };
  visit(parse(source, { sourceType: 'module', plugins: isJsx ? ['typescript', 'jsx'] : ['typescript'] }).program);
  return found;
};

/**
 * Returns whether the time of an expression is proved to be linear in its input, within a time. The fuzzer, which recheck
 * uses for expressions with large numbers, look-around or back-references, proves nothing.
 */
export const isLinear = async (pattern: string, flags: string, timeoutMs: number): Promise<boolean> => {
  const options = { checker: 'automaton', timeout: timeoutMs, maxRepeatCount: 1_000, maxNFASize: 1_000_000 } as const;
  return (await check(pattern, flags, options)).status === 'safe';
};
