import { expect, it } from 'vitest';
import { enclosingFunctions } from '../../../bin/stack-trace/enclosing-function.ts';

it.each([
  ['a declaration', 'async function send(a: string): Promise<void> { HERE; }', 'send'],
  ['a constant', 'const send = async <T>(a: T): Promise<T> => { HERE; return a; };', 'send'],
  ['a property', 'export default { before: (request: Request) => { HERE; } };', 'before'],
  ['a method of an object', 'const reader = { read(): void { HERE; } };', 'read'],
  ['a method of a class', 'class Pool { stop(): void { HERE; } }', 'Pool.stop'],
  ['a private method', 'class Pool { #end(): void { HERE; } }', 'Pool.#end'],
  ['a callback', 'const all = (ids: string[]) => ids.map((id) => { HERE; });', 'all'],
  [
    'a callback whose result has a name',
    'function all(ids: string[]) { const found = ids.map(() => { HERE; }); }',
    'all',
  ],
  [
    'an argument of a call that creates a constant',
    'export const handler = endpoint("x", async () => { HERE; });',
    'handler',
  ],
  ['a function in a function', 'const outer = () => { const inner = () => { HERE; }; };', 'inner'],
  ['code outside functions', 'const a = 1; HERE;', undefined],
])('names the function of a position in %s', (_, source, name) => {
  expect(enclosingFunctions(source)(source.indexOf('HERE'))).toBe(name);
});
