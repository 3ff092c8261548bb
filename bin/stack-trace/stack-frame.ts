/** A frame of a V8 stack trace: where generated code was executing. */
export type StackFrame = {
  /** The path or URL of the file. */
  file: string;
  /** From 1. */
  line: number;
  /** From 1. */
  column: number;
  /** The name of the method, which minification keeps; null for other functions. */
  method: string | null;
};

const FRAME = /^\s*at (?:async )?(?:(?<name>.+) \()?(?<file>[^()]+):(?<line>[1-9]\d*):(?<column>[1-9]\d*)\)?$/;

/** Returns whether a line of text is a stack frame, with or without a position. */
export const isStackFrame = (text: string): boolean => /^\s*at \S/.test(text);

/** Parses a stack frame, such as `at send (/var/task/index.js:37:58225)`. Returns undefined if it has no position. */
export const parseStackFrame = (text: string): StackFrame | undefined => {
  const { name = '', file, line, column } = FRAME.exec(text)?.groups ?? {};
  if (file === undefined) return undefined;
  const method = /\.(?<method>[\w$#]+)(?: \[as .+\])?$/.exec(name)?.groups?.method ?? null;
  return { file, line: Number(line), column: Number(column), method };
};
