import { url as inspectorUrl } from 'node:inspector';

/** The time limit of everything that waits for a function, while a debugger may have paused the function. */
const DEBUGGING_LIMIT_MS = 3_600_000;

/** Returns a time limit in ms: the given one, or an hour if the process runs with an inspector (`node --inspect`). */
export const timeLimitMs = (ms: number): number => (inspectorUrl() === undefined ? ms : DEBUGGING_LIMIT_MS);
