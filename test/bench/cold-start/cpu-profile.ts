import { readFileSync } from 'node:fs';
import * as z from 'zod';
import { parseSourceMap } from '../../../bin/trace/source-map.ts';

const callFrame = z.object({
  functionName: z.string(),
  url: z.string(),
  lineNumber: z.number(),
  columnNumber: z.number(),
});
/** The part of V8's format that is used here: a tree of calls, and the node and duration (µs) of each sample. */
const cpuProfile = z.object({
  nodes: z.array(z.object({ id: z.number(), callFrame, children: z.array(z.number()).default([]) })),
  samples: z.array(z.number()),
  timeDeltas: z.array(z.number()),
});
type CallFrame = z.infer<typeof callFrame>;

/** A function in a tree of calls. */
export type Call = {
  /** What the time is attributed to: a package, a folder of the service, or a part of Node.js. */
  group: string;
  name: string;
  /** Time in the function itself, ms. */
  selfMs: number;
  children: Map<string, Call>;
};

/** The name of functions without a name. */
export const ANONYMOUS = '(anonymous)';

const newCall = (group: string, name: string): Call => ({ group, name, selfMs: 0, children: new Map() });

/** The functions of Node.js that compile a bundle, and those that load a module of Node.js. */
const COMPILES_BUNDLE = /^(wrapSafe|compileFunctionForCJSLoader)$/;
const LOADS_MODULE = /^compileForInternalLoader$/;
const V8_GROUPS: Readonly<Record<string, string>> = {
  '(garbage collector)': 'garbage collection',
  '(program)': 'V8 and system calls',
  '(idle)': 'waiting',
};

/** Returns the package of a library's file, or the folder of a file of the service. */
const groupOfSource = (source: string): string =>
  /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(source)?.[1] ?? /(?:functions|shared\/[^/]+)/.exec(source)?.[0] ?? 'bundle';

/** Returns a function that names the group of a call, given the group of its caller. */
const createGroups = (bundle: string) => {
  const { locate } = parseSourceMap(readFileSync(`${bundle}.map`, 'utf8'));
  return ({ functionName, url, lineNumber, columnNumber }: CallFrame, parent: string): string => {
    if (V8_GROUPS[functionName]) return V8_GROUPS[functionName];
    if (COMPILES_BUNDLE.test(functionName)) return 'compiling the bundle';
    if (url.endsWith(bundle)) return groupOfSource(locate(lineNumber + 1, columnNumber + 1)?.source ?? '');
    if (parent === 'loading modules of Node.js' || LOADS_MODULE.test(functionName)) return 'loading modules of Node.js';
    // Native functions count as their caller.
    if (url === '' && parent !== '') return parent;
    return 'Node.js';
  };
};

/** Adds a CPU profile to a tree of calls. Calls of the same function by the same caller become one. */
const addProfile = (root: Call, text: string, groupOf: ReturnType<typeof createGroups>): void => {
  const { nodes, samples, timeDeltas } = cpuProfile.parse(JSON.parse(text));
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const calls = new Map<number, Call>();
  const visit = (id: number, parent: Call): void => {
    const node = byId.get(id);
    if (!node) return;
    const group = groupOf(node.callFrame, parent.group);
    const name = node.callFrame.functionName || ANONYMOUS;
    const { url, lineNumber, columnNumber } = node.callFrame;
    const key = [name, url, lineNumber, columnNumber].join(' ');
    const call = parent.children.get(key) ?? newCall(group, name);
    parent.children.set(key, call);
    calls.set(id, call);
    for (const child of node.children) visit(child, call);
  };
  const [first] = nodes;
  if (first) {
    calls.set(first.id, root);
    for (const child of first.children) visit(child, root);
  }
  for (const [index, id] of samples.entries()) {
    const call = calls.get(id);
    if (call) call.selfMs += (timeDeltas[index] ?? 0) / 1_000;
  }
};

const scale = (call: Call, factor: number): void => {
  call.selfMs *= factor;
  for (const child of call.children.values()) scale(child, factor);
};

/** Merges CPU profiles of starts of a bundle into the tree of the mean start. The bundle's source map is beside it. */
export const meanStart = (bundle: string, profiles: readonly string[]): Call => {
  const root = newCall('', 'start');
  const groupOf = createGroups(bundle);
  for (const text of profiles) addProfile(root, text, groupOf);
  scale(root, 1 / profiles.length);
  return root;
};

/** Returns the time of a call with everything it calls, ms. */
export const totalMs = (call: Call): number =>
  call.selfMs + [...call.children.values()].reduce((sum, child) => sum + totalMs(child), 0);

/** Returns the self time by group, ms. */
export const msByGroup = (root: Call): Map<string, number> => {
  const sums = new Map<string, number>();
  const visit = (call: Call): void => {
    sums.set(call.group, (sums.get(call.group) ?? 0) + call.selfMs);
    for (const child of call.children.values()) visit(child);
  };
  visit(root);
  return sums;
};
